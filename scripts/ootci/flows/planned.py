"""The plan of a nightly, as `ootci nightly`, `ootci plan` and `ootci torch build --planned` make it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from ootci.adapters.terminal import Progress
from ootci.flows.context import Folders, attempt_number, clock, run_url
from ootci.history.store import History
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan, Trigger
from ootci.model.record import write
from ootci.model.torch_build import TorchRequest
from ootci.stages.plan import Proposed, plan, with_built


def make_plan(
    registry: tuple[RegisteredDevice, ...],
    folders: Folders,
    progress: Progress,
    *,
    chosen: Sequence[str],
    torch: str | None,
    installed: TorchRequest | None = None,
    proposed: Callable[[], Proposed] | None = None,
    suffix: str | None = None,
) -> Plan:
    """Decide which devices run on which torch; writes plan.json."""
    trigger, found_suffix = _github_trigger()
    with progress.step("plan: looking for torch"):
        planned = plan(
            registry,
            chosen=[name for name in chosen if name],
            torch=torch or None,
            installed=installed,
            now=clock(),
            trigger=trigger,
            suffix=suffix or found_suffix,
            history=History(folders.history),
            proposed=proposed() if proposed else None,
            say=progress.say,
        )
    write(planned, folders.workspace.plan)
    return planned


def enter_torch(planned: Plan, folders: Folders, wheel: Path | None, problem: str | None) -> None:
    """Enter the wheel of torch that was built for a plan, or why there is none, for every device."""
    write(with_built(planned, wheel, problem), folders.workspace.plan)


def _github_trigger() -> tuple[Trigger, str | None]:
    """What started this nightly, and a suffix for the plan's id, from GitHub's default environment variables.

    Source: GitHub's documentation, "Store information in variables", default environment variables.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return Trigger(event="local"), None
    run_id, attempt = os.environ.get("GITHUB_RUN_ID"), attempt_number()
    # Running all jobs again plans again: another plan of the same workflow run, with an id of its own.
    suffix = run_id if attempt == 1 else f"{run_id}-{attempt}"
    url = run_url(os.environ.get("GITHUB_REPOSITORY"), run_id)
    return Trigger(event=os.environ.get("GITHUB_EVENT_NAME", "local"), url=url), suffix if run_id else None
