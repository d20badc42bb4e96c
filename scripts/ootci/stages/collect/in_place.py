"""Runs that are made in place of a report that cannot be used or did not come: nothing would look like silence.

Each is the same however often it is made.
"""

from __future__ import annotations

from datetime import datetime, timezone

from ootci.model.build import StageName, StageResult, StageStatus
from ootci.model.excerpt import one_line
from ootci.model.plan import Plan, PlannedRun
from ootci.model.run import ReportState, Run, SuiteReport

from .stage import without_paths


def unreadable(plan: Plan, planned: PlannedRun, attempt: int, why: str) -> Run:
    """The run of a device whose report was refused.

    Args:
        why: what is wrong with the report; it may quote it.

    """
    return _made(plan, planned, attempt, ReportState.UNREADABLE, one_line(f"report unreadable: {why}"))


def offline(plan: Plan, planned: PlannedRun, attempt: int, since: datetime) -> Run:
    """The run of a device whose job no runner took.

    Args:
        since: since when the job could have begun.

    """
    reason = f"runner offline since {since.astimezone(timezone.utc):%Y-%m-%d %H:%M} UTC"
    return _made(plan, planned, attempt, ReportState.NOT_EXPECTED, reason, stages=(_not_ready(reason),))


def not_started(plan: Plan, planned: PlannedRun) -> Run:
    """The run of a device whose workflow run was never started."""
    reason = "no workflow run was started"
    return _made(plan, planned, 1, ReportState.NOT_EXPECTED, reason, stages=(_not_ready(reason),))


def _not_ready(reason: str) -> StageResult:
    return StageResult(name=StageName.CHECK, status=StageStatus.FAILED, reason=reason)


def _made(
    plan: Plan,
    planned: PlannedRun,
    attempt: int,
    state: ReportState,
    detail: str | None,
    stages: tuple[StageResult, ...] = (),
) -> Run:
    suites = (
        SuiteReport(suite=suite.name, required=suite.required, min_tests=suite.min_tests, state=state, detail=detail)
        for suite in planned.suites
    )
    return Run(
        id=planned.run_id,
        plan_id=plan.id,
        device=planned.device,
        attempt=attempt,
        started_at=plan.created_at,
        finished_at=plan.created_at,
        torch_request=without_paths(planned.torch),
        stages=stages,
        suites=tuple(suites),
        url=plan.trigger.url,
    )
