"""What the tests of this system share: the repository, the tool as a command, and expensive things made once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

collect_ignore = ["misbehaving"]
"""Sources of stand-ins, among them tests that only a stand-in's nightly runs."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the project's own options."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files again instead of comparing")


@dataclass(frozen=True)
class Ran:
    """A command that ran to its end.

    Attributes:
        code: its exit code.
        out: its standard output.
        err: its standard error.
    """

    code: int
    out: str
    err: str


Tool = Callable[..., Ran]


def scrubbed(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without what a surrounding CI or test run would leak into a child."""
    leaking = ("GITHUB_", "ACTIONS_", "RUNNER_", "OOTCI_", "PYTEST_", "FAKE_", "MAKE", "MFLAGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(leaking) and name != "PYTHONPATH"}
    return {**kept, "NO_COLOR": "1", "COLUMNS": "120", **(extra or {})}


def run_command(command: list[str], cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 600) -> Ran:
    """Run a command and keep what it printed."""
    done = subprocess.run(
        command, cwd=cwd, env=scrubbed(env), capture_output=True, text=True, timeout=timeout, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


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


@dataclass(frozen=True)
class Nightly:
    """What ``make nightly`` left behind in a fresh checkout.

    Attributes:
        folder: the checkout.
        first: the first call.
        second: the second call, with nothing changed.
    """

    folder: Path
    first: Ran
    second: Ran

    @property
    def device_python(self) -> Path:
        """The interpreter that has torch and the reference plugin."""
        return self.folder / ".ootci" / "envs" / "openreg" / "bin" / "python"


@pytest.fixture(scope="session")
def openreg_nightly(checkout: Path) -> Nightly:
    """The README's command, run twice in a fresh checkout: the real torch, the real plugin, the real suites."""
    env = {"PYTHON": sys.executable}
    first = run_command(["make", "nightly"], checkout, env, timeout=3000)
    second = run_command(["make", "nightly"], checkout, env, timeout=3000)
    return Nightly(checkout, first, second)
