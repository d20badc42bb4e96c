"""The device suites' harness run on small suites that are made for the purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUITES = Path(__file__).parents[3] / "device"

# Enough of torch for the harness itself, so that its rules are tested where there is no torch.
STUB_TORCH = """
__version__ = "0.0.stub"


class device:
    def __init__(self, name):
        if name != "cpu":
            raise RuntimeError(f"Expected one of cpu device type at start of device string: {name}")
        self.index = None


class _C:
    @staticmethod
    def _get_privateuse1_backend_name():
        return "privateuseone"
"""

HEADER = """
import os
import signal
import time

import pytest

from harness.outcomes import unsupported

pytestmark = pytest.mark.capability("views")

"""

# Two fixtures for tests that are errors and not failures.
BAD_FIXTURES = """
@pytest.fixture
def broken():
    raise ValueError("no fixture")


@pytest.fixture
def leaves_a_mess():
    yield
    raise ValueError("a mess")

"""

DevicePython = Callable[..., "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Session:
    """A pytest process that ran to its end.

    Attributes:
        code: its exit code.
        out: what it printed.
        err: what it complained of.
        events: the event log, oldest first.

    """

    code: int
    out: str
    err: str
    events: tuple[dict[str, Any], ...]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """The events of one kind."""
        return [event for event in self.events if event["event"] == kind]

    def ends(self) -> dict[str, dict[str, Any]]:
        """The end of every test, by id."""
        return {event["id"]: event for event in self.of("test_end")}


@dataclass(frozen=True)
class SmallSuites:
    """A copy of the harness with tests of our own."""

    folder: Path
    log: Path

    def write(self, path: str, tests: str, *, header: str = HEADER) -> None:
        """Add a file of tests."""
        target = self.folder / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(header + tests, encoding="utf-8")

    def command(self, *arguments: str, device: str | None = "cpu") -> list[str]:
        """The command that runs them."""
        chosen = [] if device is None else ["--device", device]
        return [sys.executable, "-m", "pytest", *chosen, "--events", str(self.log), *arguments]

    def environment(self) -> dict[str, str]:
        """The environment of that command."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
        return {
            **kept,
            "PYTHONPATH": str(self.folder / "stub"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "NO_COLOR": "1",
        }

    def run(self, *arguments: str, device: str | None = "cpu", cwd: Path | None = None) -> Session:
        """Run them."""
        done = subprocess.run(
            self.command(*arguments, device=device),
            cwd=cwd or self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Session(done.returncode, done.stdout, done.stderr, read_events(self.log))


def read_events(log: Path) -> tuple[dict[str, Any], ...]:
    """The whole lines of an event log; a line that was cut off has no line feed."""
    text = log.read_text(encoding="utf-8") if log.exists() else ""
    return tuple(json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n"))


def read_ends(log: Path) -> dict[str, dict[str, Any]]:
    """The end of every test in an event log, by id."""
    return {event["id"]: event for event in read_events(log) if event["event"] == "test_end"}


def read_collected(log: Path) -> list[dict[str, Any]]:
    """The tests that a log lists as collected, in one event."""
    (event,) = (event for event in read_events(log) if event["event"] == "collected")
    tests: list[dict[str, Any]] = event["tests"]
    return tests


def broken_environment(variant: str | None) -> dict[str, str]:
    """The variables that break the device in every Python that is started with them."""
    here = Path(__file__).parent
    return {"SABOTAGE": variant or "", "PYTHONPATH": os.pathsep.join([str(here), str(here / "sabotage" / "start")])}


BREAK = """
import os, sys
import sabotage
if os.environ[sabotage.VARIABLE]:
    sabotage.load()[os.environ[sabotage.VARIABLE]].apply()
"""
"""Breaks the device as ``broken_environment`` says, in a Python that has imported torch."""


def run_ids(
    python: DevicePython, device: str, ids: tuple[str, ...], folder: Path, variant: str | None = None
) -> dict[str, dict[str, Any]]:
    """The ends of some of the shipped tests, run on the device or on a variant of it that is broken on purpose.

    The Python has torch already when the device is broken, as after a fork.
    """
    (folder / "ids").write_text("\n".join(ids), encoding="utf-8")
    log = folder / "events.jsonl"
    log.unlink(missing_ok=True)
    files = sorted({test_id.partition("::")[0] for test_id in ids})  # collecting the others takes longer than the tests
    done = python(
        *("-c", BREAK + "import pytest\nsys.exit(pytest.main(sys.argv[1:]))"),
        *(*files, "--device", device, f"--ids-from={folder / 'ids'}", f"--events={log}", "-q"),
        env=broken_environment(variant),
    )
    ends = read_ends(log)
    assert ends, done.stdout + done.stderr
    return ends


def proof_command(python: str, plan: Path, report: Path, folder: Path) -> tuple[list[str], dict[str, Any]]:
    """The command that runs the suites on broken devices, and what ``subprocess.run`` has to know besides.

    Args:
        python: has torch and the reference device.
        plan: which tests on which devices; see the options of ``sabotage/plugin.py``.
        report: where it writes what came of them.
        folder: for the tests' temporary files.

    """
    command = [
        *(python, "-m", "pytest", "-p", "sabotage.plugin", "-p", "no:terminalreporter", "--tb=native"),
        *("smoke", "integration", "--device", "openreg", f"--basetemp={folder}"),
        *(f"--proof-plan={plan}", f"--proof-report={report}"),
    ]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    return command, {"cwd": SUITES, "env": {**kept, **broken_environment(None), "PYTHONDONTWRITEBYTECODE": "1"}}
