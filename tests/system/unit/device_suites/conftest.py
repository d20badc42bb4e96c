"""Makes the harness importable, and gives tests small suites and a Python with torch."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[3] / "device")]

from forking_python import OP_DB, ForkingPython, base_environment  # noqa: E402 (found through the line above)
from sabotage import DEVICE  # noqa: E402
from small_checkout import Upstream, small_checkout  # noqa: E402
from small_suites import STUB_TORCH, SUITES, DevicePython, SmallSuites  # noqa: E402


@pytest.fixture
def suites(tmp_path: Path) -> SmallSuites:
    """The harness, with no tests yet."""
    folder = tmp_path / "suites"
    shutil.copytree(SUITES / "harness", folder / "harness", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("conftest.py", "pytest.ini"):
        shutil.copy(SUITES / name, folder / name)
    (folder / "stub").mkdir()
    (folder / "stub" / "torch.py").write_text(STUB_TORCH, encoding="utf-8")
    return SmallSuites(folder, tmp_path / "events.jsonl")


@pytest.fixture(scope="session")
def device_python(python_with_torch: str) -> DevicePython:
    """Run the Python that has torch, in the suites' folder, with arguments and what is given on stdin."""

    def run(
        *arguments: str, cwd: Path = SUITES, env: Mapping[str, str] | None = None, given: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [python_with_torch, *arguments],
            cwd=cwd,
            env={**base_environment(), **(env or {})},
            input=given,
            capture_output=True,
            text=True,
            timeout=1800,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def _forking(python_with_torch: str) -> Iterator[ForkingPython]:
    with contextlib.closing(ForkingPython(python_with_torch, base_environment)) as python:
        yield python


@pytest.fixture(scope="session")
def forking_python(_forking: ForkingPython) -> DevicePython:
    """Like ``device_python``, in a fork of a process that has imported torch: the import takes seconds."""
    return _forking


@pytest.fixture(scope="session")
def forking_ops(_forking: ForkingPython) -> DevicePython:
    """Like ``forking_python``, and torch's lists of operators are imported as well."""
    return _forking.importing(*OP_DB)


@pytest.fixture(scope="session")
def reference(device_python: DevicePython, forking_python: DevicePython) -> DevicePython:
    """The Python with torch, if the reference device is installed there."""
    done = forking_python("-c", f"import torch; torch.ones(1, device={DEVICE!r})")
    if done.returncode != 0:
        pytest.skip(f"the Python with torch has no device {DEVICE}")
    return device_python


@pytest.fixture
def upstream(tmp_path: Path, forking_ops: DevicePython) -> Upstream:
    """A small checkout of PyTorch, whose tests run in forks of a Python that has imported torch."""
    return small_checkout(tmp_path, forking_ops)
