"""What a nightly leaves in the work folder is added to the history."""

from __future__ import annotations

from collections.abc import Callable

from ootci.adapters.folder_lock import held
from ootci.errors import OotciError
from ootci.flows.context import attempt_number
from ootci.history.store import History
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.workspace import Workspace

PATIENCE = 60.0
"""Seconds that appending waits for another command to have ended."""


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
    # What was tested for hours is worth a wait.
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
