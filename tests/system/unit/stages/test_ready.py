"""Before anything is fetched: a machine that is not ready is to blame, and the plugin is not built on it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from unit.samples import device, night, plan

from ootci.adapters.progress import Progress
from ootci.model.build import Build, StageStatus
from ootci.model.record import read
from ootci.model.workspace import Workspace
from ootci.stages.build import NewEnvironment, build

SAYS = [sys.executable, "-c", "import sys; print('card 0: error: gone'); sys.exit(int(sys.argv[1]))"]


def _build(folder: Path, command: list[str] | None) -> Build:
    """Build a device whose plugin's folder is not there: fetching it fails quickly, if it begins at all."""
    item = device(check={"command": command, "timeout_seconds": 20}, plugin={"distribution": "x", "path": "gone"})
    planned = plan().runs[0]
    planned = planned.model_copy(
        update={"torch": planned.torch.model_copy(update={"unavailable_reason": "there is no torch tonight"})}
    )
    workspace = Workspace(folder)
    environment = NewEnvironment(item, planned, workspace, folder / "suites")
    build(environment, clock=lambda: night(0), progress=Progress(quiet=True))
    return read(Build, workspace.run("dev").build)


def test_a_check_command_that_fails_keeps_everything_from_being_fetched(tmp_path: Path) -> None:
    fetch, built = _build(tmp_path, [*SAYS, "1"]).stages
    assert fetch.status is StageStatus.FAILED
    assert fetch.reason is not None
    assert fetch.reason.startswith("the machine is not ready: the check command failed: card 0: error: gone")
    assert built.status is StageStatus.NOT_RUN


def test_a_check_command_that_passes_lets_the_build_begin(tmp_path: Path) -> None:
    assert _build(tmp_path, [*SAYS, "0"]).stages[0].reason == "there is no torch tonight"
    assert _build(tmp_path, None).stages[0].reason == "there is no torch tonight"


def test_a_check_command_that_is_not_there_is_the_machines_fault(tmp_path: Path) -> None:
    fetch = _build(tmp_path, ["no-such-vendor-smi"]).stages[0]
    assert fetch.status is StageStatus.FAILED
    assert "no-such-vendor-smi" in str(fetch.reason)


def test_a_full_disk_is_the_machines_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1 << 30)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    fetch = _build(tmp_path, None).stages[0]
    assert fetch.reason == "the machine has 1.0 GiB free, a device's environment needs 2"
