"""What the tests of this system share: the repository, the tool as a command, and expensive things made once."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from commands import Nightly, Ran, Tool, run_command, with_smoke_only

ROOT = Path(__file__).parents[2]

collect_ignore = ["misbehaving"]
"""Sources of stand-ins, among them tests that only a stand-in's nightly runs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the project's own options."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files again instead of comparing")


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def ootci() -> Tool:
    """The tool as a command: ``ootci("plan", "--torch", "2.13.0", cwd=folder)``."""

    def call(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 600) -> Ran:
        return run_command([sys.executable, "-m", "ootci", *arguments], cwd, env, timeout)

    return call


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as a newcomer gets it: every file that git knows or would take, and nothing that was built."""
    target = tmp_path_factory.mktemp("checkout") / "pytorch-integration-tests"
    listed = run_command(["git", "ls-files", "-co", "--exclude-standard", "-z"], ROOT).out
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for command in (
        ["git", "init", "--quiet", "--initial-branch=main"],
        ["git", "add", "--all"],
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "checkout"],
    ):
        assert run_command(command, target).code == 0
    return target


@pytest.fixture(scope="session")
def openreg_nightly(checkout: Path) -> Nightly:
    """The README's command, run twice in a fresh checkout: the real torch, the real plugin, the real suites.

    The second time is for what is built, not for what is tested, so it runs the shortest suite only.
    """
    env = {"PYTHON": sys.executable}
    first = run_command(["make", "nightly"], checkout, env, timeout=3000)
    run = checkout.with_name("first-run")
    shutil.copytree(checkout / ".ootci" / "runs" / "openreg", run)
    device = checkout / "devices" / "openreg.yaml"
    text = device.read_text(encoding="utf-8")
    device.write_text(with_smoke_only(text), encoding="utf-8")
    second = run_command(["make", "nightly"], checkout, env, timeout=3000)
    device.write_text(text, encoding="utf-8")
    return Nightly(checkout, run, first, second)
