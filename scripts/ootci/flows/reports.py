"""The reports of a plan's devices: importing external ones, reading the work folder, adding them to the history."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from ootci.adapters.annotation import show_warning
from ootci.adapters.download import DownloadProblem
from ootci.adapters.download import read as download
from ootci.adapters.folder_lock import held
from ootci.errors import ExternalUnreachable, OotciError
from ootci.flows.context import CLOCKS, Folders, attempt_number, clock
from ootci.flows.planning import require_date
from ootci.history.store import History
from ootci.model.compat import Compat
from ootci.model.device import RegisteredDevice, find_device
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import read, utc_text, write, write_atomic
from ootci.model.run import Run
from ootci.model.workspace import RunFolder, Workspace
from ootci.stages.collect import unreadable
from ootci.stages.collect.elsewhere import reported, taken_in

MAX_BYTES = 32 * 1024 * 1024
"""A run.json of 20,000 tests has 7 MB."""
SECONDS = 120.0
PATIENCE = 60.0
"""Seconds that appending waits for another command to have ended."""


def take_in(
    plan: Plan, registry: tuple[RegisteredDevice, ...], folders: Folders, say: Callable[[str], None]
) -> tuple[list[str], list[OotciError]]:
    """Put the run.json of every planned external device that has reported into the work folder.

    Returns the devices whose reports were imported, and the errors of the others.
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
    try:
        found = reported(device, content, address, now)
    except OotciError:
        # The file is kept, so that the verdict is LOST_TESTS and not NO_DATA.
        write_atomic(folders.workspace.run(device.name).run, content)
        raise
    taken = taken_in(device, plan, found, before.head if before else None, now=now, attempt=attempt_number())
    write(taken, folders.workspace.run(device.name).run)
    return f"imported from {address}, {(now - taken.finished_at).total_seconds() / 3600:.1f} hours old"


@dataclass(frozen=True)
class Found:
    """A run.json in the work folder, and the run that counts.

    Attributes:
        run: the run that counts, of the device and the attempt that the folder belongs to.
        problem: why the run only records an unusable report; None for a good report.

    """

    folder: RunFolder
    run: Run
    problem: str | None = None


_FOLDER = re.compile(r"run-(?P<of>[a-z0-9_]+)(?:-[\w.-]+)?-(?P<attempt>[1-9]\d{0,8})|(?P<device>[a-z0-9_]+)")
"""A run's folder has the name of its device, or of the artifact that its job uploaded."""


def _this_attempt(_: str) -> int:
    return attempt_number()


def _found(
    workspace: Workspace, plan: Plan, say: Callable[[str], None], attempts: Callable[[str], int] = _this_attempt
) -> Iterator[Found]:
    """The reports of a plan's devices.

    They come from jobs that ran vendor code. A report belongs to the device and the attempt of its folder; one that
    claims another, or cannot be read, counts as an unusable report of that device.
    """
    now = clock()
    for folder in workspace.runs():
        name = _FOLDER.fullmatch(folder.path.name)
        if name is None or not os.path.lexists(folder.run):
            continue
        device, uploaded = name["of"] or name["device"], int(name["attempt"] or 0)
        newest = attempts(device)
        attempt = uploaded or newest
        planned = plan.expected(device)
        try:
            run, problem = read(Run, folder.run), None
        except OotciError as error:
            run, problem = None, error.what
        # An imported or just uploaded report is of this plan; any other may be left from an earlier one.
        is_fresh = planned is not None and (planned.external is not None or uploaded == newest)
        if run is not None and run.plan_id != plan.id and not is_fresh:
            continue
        if planned is None or attempt > newest:
            say(f"{folder.run}: not taken, the plan {plan.id} expects no attempt {attempt} of {device}")
            continue
        if run is not None:
            problem = _problem(run, plan, planned, uploaded, newest, now)
        if run is None or problem is not None:
            say(f"{folder.run}: not taken, {problem}")
            run = unreadable(plan, planned, attempt, problem or "")
        yield Found(folder, run.recounted(), problem)


def _problem(run: Run, plan: Plan, planned: PlannedRun, uploaded: int, newest: int, now: datetime) -> str | None:
    """A contradiction in a report; None if there is none."""
    if run.attempt > newest or (uploaded and run.attempt != uploaded):
        return f"it is of attempt {run.attempt} and this is attempt {uploaded or newest}"
    if not run.is_report:
        return "it is none of a device"
    if run.finished_at < run.started_at:
        return f"it ended at {utc_text(run.finished_at)}, before it began at {utc_text(run.started_at)}"
    if run.finished_at > now + CLOCKS:
        return f"it ended at {utc_text(run.finished_at)}, which is not yet"
    if (run.id, run.device) != (planned.run_id, planned.device):
        return f"it is a report of {run.device[:40]!a}, run {run.id[:80]!a}"
    # An external report was made before the plan; its age was checked when it was imported.
    if run.started_at < plan.created_at - CLOCKS and planned.external is None:
        return f"it began at {utc_text(run.started_at)}, before it was planned at {utc_text(plan.created_at)}"
    return None


def reported_runs(workspace: Workspace, plan: Plan, say: Callable[[str], None]) -> dict[str, Run]:
    """What was reported of a plan's devices, by device: of each the last attempt whose report can be used.

    If none can be used, it is the last one, which only records that.
    """
    found = sorted(_found(workspace, plan, say), key=lambda one: (one.problem is None, one.run.attempt))
    return {one.run.device: one.run for one in found}


def append_workspace(
    workspace: Workspace,
    store: History,
    say: Callable[[str], None],
    *,
    attempts: Callable[[str], int] = _this_attempt,
    made: Sequence[Run] = (),
) -> tuple[list[str], int]:
    """Add the work folder's plan and what was reported of its devices.

    An unusable report never keeps the others out; it is recorded, unless there is a good one of the same attempt. A
    good report that arrives later counts.

    Args:
        say: told about each report that was not taken.
        attempts: the newest attempt of a device's job.
        made: runs in place of missing reports, each added unless there is one of the same attempt.

    Returns:
        The device of each run that was new, and how many were there already.

    Raises:
        StageFileMissing: there is no plan.
        PlanMisdated: the plan is of the future, or older than the newest one.
        HistoryConflict: a different plan has the same id.
        Busy: another command writes to the history.

    """
    plan = read(Plan, workspace.plan)
    store.folder.mkdir(parents=True, exist_ok=True)
    # Wait, because the result of hours of testing would be lost.
    with held(store.folder, PATIENCE), store.batch():
        require_date(plan.id, plan.created_at, store, clock())
        is_new = store.append_plan(plan)
        if workspace.compat.exists():
            predicted = read(Compat, workspace.compat)
            if predicted.plan_id == plan.id:
                store.append_compat(predicted)
        found = _found(workspace, plan, say, attempts)
        return _append_runs(found, made, store, say, None if is_new else clock())


def _append_runs(
    reports: Iterator[Found], made: Sequence[Run], store: History, say: Callable[[str], None], now: datetime | None
) -> tuple[list[str], int]:
    added, known = list[str](), 0
    instead = list(made)
    for found in reports:
        if found.problem is not None:
            instead.append(found.run)
            continue
        try:
            if store.append_run(found.run, now):
                added.append(found.run.device)
            else:
                known += 1
        except OotciError as error:
            say(f"{found.folder.run}: not taken, {error.id}: {error.what}")
    for run in instead:
        if not store.holds(run) and store.append_run(run):
            added.append(run.device)
    return added, known
