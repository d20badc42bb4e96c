"""Which devices run on which torch: the plan of a nightly, and the torch that is entered into it later."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ootci.adapters.annotation import show_warning
from ootci.adapters.progress import Progress
from ootci.errors import OotciError, PlanMisdated
from ootci.flows.context import CLOCKS, Folders, attempt_number, clock, run_url
from ootci.history.store import History
from ootci.model.device import RegisteredDevice, find_device
from ootci.model.plan import LOCAL, SCHEDULE, Plan, Trigger
from ootci.model.record import read, utc_text, write
from ootci.model.torch_build import TorchRequest
from ootci.stages.plan import Proposed, due, plan, require_torch, require_wheel, with_built, with_nightly, with_sources


def make_plan(
    registry: tuple[RegisteredDevice, ...],
    folders: Folders,
    progress: Progress,
    *,
    chosen: Sequence[str],
    torch: str | None,
    installed: TorchRequest | None = None,
    also: bool = False,
    proposed: Callable[[], Proposed] | None = None,
    if_due: Path | None = None,
) -> Plan:
    """Decide which devices run on which torch; writes plan.json.

    Args:
        chosen, torch, installed, also: as in :class:`ootci.flows.nightly.Night`.
        proposed: gives what is tested instead of a nightly.
        if_due: the plan of the last scheduled nightly, or where it will be; None plans whatever was before.

    Raises:
        NoSuchDevice, BadOption, TorchWheelMissing: ``chosen`` or ``torch`` is refused before anything is looked for.
        NotDue: there is no new nightly since that one; nothing is written.

    """
    trigger, suffix = _github_trigger()
    chosen = [name for name in chosen if name]
    for name in chosen:
        find_device(registry, name)
    if torch:
        (require_wheel if proposed else require_torch)(torch)
    with progress.step("plan: looking for torch"):
        planned = plan(
            registry,
            chosen=chosen,
            torch=torch or None,
            installed=installed,
            also=also,
            now=clock(),
            trigger=trigger,
            suffix=suffix,
            history=History(folders.history),
            proposed=proposed() if proposed else None,
            say=progress.say,
        )
        is_whole = folders.devices.is_dir() and not any((*chosen, torch, installed, proposed))
        if is_whole and trigger.event != LOCAL:
            planned = with_nightly(planned)
    if planned.trigger.proposal is None:
        # Fail before devices are tested for hours.
        require_date(planned.id, planned.created_at, History(folders.history), clock())
    if if_due is not None:
        # A re-run of a nightly's jobs is always due.
        planned = due(planned, _scheduled_before(if_due, folders)) if attempt_number() == 1 else planned
    if planned.trigger.proposal is None:
        planned = with_sources(planned, History(folders.history).plans())
    if if_due is not None:
        write(planned, if_due)
    write(planned, folders.workspace.plan)
    return planned


def require_date(plan_id: str, planned: datetime, history: History, now: datetime) -> None:
    """Refuse the date of a plan that the history does not have yet.

    Raises:
        PlanMisdated: it is in the future, or before the newest nightly.

    """
    plans = history.plans()
    if any(plan.id == plan_id for plan in plans):
        return
    if planned > now + CLOCKS:
        what = f"the plan is of {utc_text(planned)}, and it is {utc_text(now)}"
        raise PlanMisdated(what, where=plan_id, fix="set the clock of the machine that planned it, and plan again")
    if not plans or planned >= plans[-1].created_at:
        return
    newest, where = plans[-1], str(history.folder)
    what = f"the plan is of {utc_text(planned)}, before the newest nightly {newest.id} of {utc_text(newest.created_at)}"
    fix = "set this machine's clock and plan again"
    if newest.created_at > now + CLOCKS:
        fix = (
            f"if that one's date is wrong, leave it out: `ootci history withdraw {newest.id} --reason ...`; else {fix}"
        )
    raise PlanMisdated(what, where=where, fix=fix)


def _scheduled_before(kept: Path, folders: Folders) -> Plan | None:
    """The last scheduled nightly: the kept one, which may still be running, or one of the history."""
    plans = [plan for plan in History(folders.history).plans() if plan.trigger.event == SCHEDULE]
    try:
        plans += [read(Plan, kept)] if kept.exists() else []
    except OotciError as error:
        show_warning("the nightly may start twice", error)
    return max(plans, key=lambda plan: plan.created_at, default=None)


def enter_torch(
    planned: Plan, folders: Folders, wheel: Path | None, problem: str | None, unfit: Mapping[str, str] = {}
) -> None:
    """Enter the wheel of torch that was built for a plan, or why there is none, for every device; see `with_built`."""
    write(with_built(planned, wheel, problem, unfit), folders.workspace.plan)


def _github_trigger() -> tuple[Trigger, str | None]:
    """What started this nightly, and a suffix for the plan's id, from GitHub's default environment variables.

    Source: GitHub's documentation, "Store information in variables", default environment variables.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return Trigger(event="local"), None
    run_id, attempt = os.environ.get("GITHUB_RUN_ID"), attempt_number()
    # Re-running all jobs makes another plan in the same workflow run, which needs its own id.
    suffix = run_id if attempt == 1 else f"{run_id}-{attempt}"
    return Trigger(event=os.environ.get("GITHUB_EVENT_NAME", "local"), url=run_url()), suffix if run_id else None
