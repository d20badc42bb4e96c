"""The probe, with a Python that has no torch or a broken one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_suites import STUB_TORCH, SUITES

MODULE = """
import types
version = types.SimpleNamespace(git_version="0" * 40, debug=False, cuda=None, hip=None)
__config__ = types.SimpleNamespace(show=lambda: "nothing")
def compiled_with_cxx11_abi():
    return True
def get_device_module(name):
    return types.SimpleNamespace(is_available=lambda: AVAILABLE, device_count=lambda: 2)
"""


def _probe(tmp_path: Path, torch: str | None, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    stub = tmp_path / "stub"
    stub.mkdir()
    (stub / "torch.py").write_text("raise ImportError('no torch')" if torch is None else torch, encoding="utf-8")
    out = tmp_path / "env.json"
    done = subprocess.run(
        [sys.executable, str(SUITES / "probe.py"), "--out", str(out), *arguments],
        env={"PYTHONPATH": str(stub)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr, json.loads(out.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("torch", "arguments", "code", "reached", "error"),
    [
        (None, ("--device", "cpu"), 10, "python", "`import torch` failed: ImportError: no torch"),
        ("import os\nos._exit(134)", ("--device", "cpu"), 134, "python", None),
        (STUB_TORCH + MODULE + "AVAILABLE = True", ("--device", "cpu"), 0, "device", None),
        (STUB_TORCH + MODULE + "AVAILABLE = True", ("--device", "x"), 11, "import", "does not know the device x"),
        (STUB_TORCH + MODULE + "AVAILABLE = False", ("--device", "cpu"), 12, "device", "not available"),
        (
            STUB_TORCH + MODULE + "AVAILABLE = True",
            ("--device", "cpu", "--expect-devices", "3"),
            12,
            "device",
            "counts 2 card(s) of cpu, expected at least 3",
        ),
        (STUB_TORCH + MODULE, ("--device", "cpu"), 12, "device", "NameError"),
    ],
    ids=["no_torch", "torch_ends_the_process", "fine", "unknown", "unavailable", "too_few", "module_raises"],
)
def test_every_end(
    tmp_path: Path, torch: str | None, arguments: tuple[str, ...], code: int, reached: str, error: str | None
) -> None:
    actual, complaint, facts = _probe(tmp_path, torch, *arguments)
    assert actual == code, complaint
    assert facts["reached"] == reached
    if error is None:
        assert facts["error"] is None
    else:
        assert error in facts["error"]
        assert error in complaint
    assert facts["python"]["version"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert facts["os"]["cpus"] >= 1
