"""A run whose report cannot be used: a state of its own, because nothing at all would look like silence."""

from __future__ import annotations

from ootci.model.excerpt import one_line
from ootci.model.plan import Plan, PlannedRun
from ootci.model.run import ReportState, Run, SuiteReport

from .place import without_paths


def unreadable(plan: Plan, planned: PlannedRun, attempt: int, why: str) -> Run:
    """The run of a device whose report was refused; the same however often it is made.

    Args:
        planned: the run that it expects.
        why: what is wrong with the report; it may quote it.

    """
    detail = one_line(f"report unreadable: {why}")
    return Run(
        id=planned.run_id,
        plan_id=plan.id,
        device=planned.device,
        attempt=attempt,
        started_at=plan.created_at,
        finished_at=plan.created_at,
        torch_request=without_paths(planned.torch),
        stages=(),
        suites=tuple(
            SuiteReport(
                suite=suite.name,
                required=suite.required,
                min_tests=suite.min_tests,
                state=ReportState.UNREADABLE,
                detail=detail,
            )
            for suite in planned.suites
        ),
        url=plan.trigger.url,
    )
