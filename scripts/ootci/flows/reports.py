"""The reports of a plan's devices: taken in from elsewhere, read back from the work folder, added to the history."""

from __future__ import annotations

from collections.abc import Callable

from ootci.adapters.annotation import show_warning
from ootci.adapters.download import DownloadProblem
from ootci.adapters.download import read as download
from ootci.adapters.folder_lock import held
from ootci.errors import ExternalUnreachable, OotciError
from ootci.flows.context import Folders, attempt_number, clock
from ootci.history.store import History
from ootci.model.device import RegisteredDevice, find_device
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import read, write
from ootci.model.run import Run
from ootci.model.workspace import Workspace
from ootci.stages.external import taken_in

MAX_BYTES = 32 * 1024 * 1024
"""A run.json of 20,000 tests has 7 MB."""
SECONDS = 120.0
PATIENCE = 60.0
"""Seconds that appending waits for another command to have ended."""


def take_in(
    plan: Plan, registry: tuple[RegisteredDevice, ...], folders: Folders, say: Callable[[str], None]
) -> tuple[list[str], list[OotciError]]:
    """Put a run.json into the work folder for every planned device that is run elsewhere and has reported.

    Returns:
        The devices whose reports were taken in, and why those of others were not.

    """
    taken: list[str] = []
    refused: list[OotciError] = []
    for run in plan.runs:
        if run.external is None:
            continue
        folders.workspace.run(run.device).run.unlink(missing_ok=True)
        try:
            found = _one(plan, run, registry, folders)
        except OotciError as error:
            show_warning(f"{run.device} has no report from elsewhere", error)
            refused.append(error)
        else:
            say(f"{run.device}: {found}")
            taken.append(run.device)
    return taken, refused


def _one(plan: Plan, run: PlannedRun, registry: tuple[RegisteredDevice, ...], folders: Folders) -> str:
    device, now, address = find_device(registry, run.device).device, clock(), run.external or ""
    try:
        content, _ = download(address, at_most=MAX_BYTES, seconds=SECONDS, private=True)
    except DownloadProblem as problem:
        raise ExternalUnreachable(str(problem), where=address, fix="see whether it is published there") from problem
    before = next(iter(History(folders.history).newest_stored(device.name)), None)
    taken = taken_in(device, plan, content, before.head if before else None, now=now, attempt=attempt_number())
    write(taken, folders.workspace.run(device.name).run)
    return f"taken in from {address}, {(now - taken.finished_at).total_seconds() / 3600:.1f} hours old"


def reported_runs(workspace: Workspace, plan: Plan, say: Callable[[str], None]) -> dict[str, Run]:
    """What was reported of a plan's devices, by device: of each its last attempt.

    A run lies in the folder of its device, or in one of the name that its artifact has. It comes from a job that ran
    vendor code: a bad one is as good as none, which is said, and keeps no other out; what lies in the folder of another
    device is not read.
    """
    runs: dict[str, Run] = {}
    for planned in plan.runs:
        attempts = [f"run-{planned.device}-{number}" for number in range(attempt_number(), 0, -1)]
        for name in (planned.device, *attempts):
            path = workspace.run(name).run
            if not path.exists():
                continue
            try:
                run = read(Run, path)
            except OotciError as error:
                say(f"{planned.device}: {error.what}")
                continue
            if (run.id, run.device) == (planned.run_id, planned.device):
                runs[planned.device] = run
                break
    return runs


def append_workspace(workspace: Workspace, store: History, say: Callable[[str], None]) -> tuple[int, int]:
    """Add the work folder's plan and every run.json that belongs to it.

    The folders of runs may be artifacts of jobs that ran vendor code: only a valid run that the plan expected is
    taken, and a bad one never keeps the others out.

    Args:
        workspace: the work folder.
        store: the history.
        say: told about each run that was not taken.

    Returns:
        How many runs were new, and how many were there already.

    Raises:
        StageFileMissing: there is no plan.
        HistoryConflict: a different plan has the same id.
        Busy: another command writes to the history.

    """
    plan = read(Plan, workspace.plan)
    store.folder.mkdir(parents=True, exist_ok=True)
    # The result of hours of testing is worth a wait.
    with held(store.folder, PATIENCE), store.together():
        store.append_plan(plan)
        return _append_runs(workspace, plan, store, say)


def _append_runs(workspace: Workspace, plan: Plan, store: History, say: Callable[[str], None]) -> tuple[int, int]:
    expected = {(run.run_id, run.device) for run in plan.runs}
    added = known = 0
    for folder in workspace.runs():
        if not folder.run.exists():
            continue
        try:
            run = read(Run, folder.run)
            if run.plan_id != plan.id:
                continue
            if (run.id, run.device) not in expected:
                say(f"{folder.run}: not taken, the plan expects no run {run.id} of {run.device}")
            elif run.attempt > attempt_number():
                say(f"{folder.run}: not taken, it says attempt {run.attempt} and this is attempt {attempt_number()}")
            elif store.append_run(run):
                added += 1
            else:
                known += 1
        except OotciError as error:
            say(f"not taken: {error.id}: {error}")
    return added, known
