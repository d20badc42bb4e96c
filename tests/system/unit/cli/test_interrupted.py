"""Whoever interrupts the tool leaves no process behind, and loses nothing of what is known."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import ends
from unit.samples import build, plan, register
from unit.stages.smoke_run import fake_python

from ootci.model.build import StageStatus
from ootci.model.record import read, write
from ootci.model.run import Run

from commands import Tool, scrubbed  # isort: skip

SOURCE = str(Path(__file__).parents[4] / "scripts")
SCRIPT = ["collect a b", "start a", "end a=passed", "start b", "daemon daemon.pid", "hang"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A device whose Python plays the script, and tells the number of its process."""
    register(tmp_path)
    binaries = tmp_path / "env" / "bin"
    binaries.mkdir(parents=True)
    played = Path(fake_python(binaries)).rename(binaries / "played")
    python = binaries / "python"
    imported = f"""echo '{{"reached": "described"}}' > {tmp_path}/.ootci/runs/dev/env.json; exit 0"""
    python.write_text(
        f'#!/bin/sh\ncase "$1" in *probe.py) {imported};; esac\necho $$ > suite.pid\nexec {played} "$@"\n',
        encoding="utf-8",
    )
    python.chmod(0o755)
    write(plan(), tmp_path / ".ootci" / "plan.json")
    write(build(python=str(python)), tmp_path / ".ootci" / "runs" / "dev" / "build.json")
    return tmp_path


def _number(path: Path) -> int:
    """The number of a process, once it has written it."""
    give_up = time.monotonic() + 60
    while not path.exists() or not path.read_text(encoding="utf-8").strip():
        assert time.monotonic() < give_up, f"{path.name} was never written"
        time.sleep(0.05)
    return int(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_what_was_started_and_keeps_what_is_known(ootci: Tool, folder: Path, number: int) -> None:
    scratch = folder / ".ootci" / "runs" / "dev" / "scratch" / "smoke"
    with subprocess.Popen(
        # Whoever runs the tests in the background may ignore some of these signals, and children inherit that.
        ["env", f"--default-signal={number.name.removeprefix('SIG')}", sys.executable, "-m", "ootci", "test", "dev"],
        cwd=folder,
        env=scrubbed({"FAKE_SCRIPT": json.dumps([SCRIPT]), "PYTHONPATH": SOURCE}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as tool:
        started = [_number(scratch / "daemon.pid"), _number(scratch / "suite.pid")]
        os.kill(tool.pid, number)
        _, said = tool.communicate(timeout=60)
    assert tool.returncode == 128 + number
    assert b"interrupted" in said
    assert b"Traceback" not in said
    assert [ends(item) for item in started] == [True, True]
    assert ootci("collect", "dev", cwd=folder).code == 0
    run = read(Run, folder / ".ootci" / "runs" / "dev" / "run.json")
    assert {item.id: item.outcome.value for item in run.outcomes} == {"a": "passed", "b": "not_run"}
    smoke = next(stage for stage in run.stages if stage.name == "smoke")
    assert (smoke.status, smoke.reason) == (StageStatus.CRASHED, "the job ended while this stage was running")
