"""What a night is judged against: what the plan expected, and what was reported before."""

from __future__ import annotations

from dataclasses import replace

from ootci.model.plan import Plan
from ootci.model.run import ReportState, SuiteReport

from .stored import StoredRun


def as_planned(plan: Plan, run: StoredRun | None) -> StoredRun | None:
    """The run with its suites as the plan expected them.

    run.json comes from a job that ran vendor code, so which suites are required, and how many tests are expected, is
    taken from the plan; a planned suite that the run does not mention has not reported.
    """
    planned = plan.expected(run.head.device) if run is not None else None
    if run is None or planned is None:
        return run
    reported = {report.suite: report for report in run.head.suites}
    suites = tuple(
        reported.get(suite.name, _missing(suite.name)).model_copy(
            update={"required": suite.required, "min_tests": suite.min_tests}
        )
        for suite in planned.suites
    )
    # Most runs are as planned. The very same one is told to be the same at no cost.
    return run if suites == run.head.suites else replace(run, head=run.head.model_copy(update={"suites": suites}))


def concerns(plan: Plan, device: str) -> bool:
    """Whether the nightly expected the device, or left it out because it was paused."""
    return any(run.device == device for run in plan.runs) or any(
        left.device == device and left.paused for left in plan.left_out
    )


def base_of(before: StoredRun | None, run: StoredRun) -> StoredRun | None:
    """What the next night is compared with: for each suite, the last run that reported it completely.

    Args:
        before: what this night was compared with; None where nothing was reported before.
        run: what was reported this night, as it was planned.

    """
    complete = {report.suite for report in run.head.suites if report.state is ReportState.COMPLETE}
    if before is None or not complete:
        return run if complete else before
    older = [report for report in before.head.suites if report.suite not in complete]
    newer = [report for report in run.head.suites if report.suite in complete]
    if not older and len(newer) == len(run.head.suites):
        return run
    both = run.of_suites(complete).with_tests_of(before.of_suites(report.suite for report in older))
    return replace(both, head=run.head.model_copy(update={"suites": (*older, *newer)}))


def _missing(suite: str) -> SuiteReport:
    return SuiteReport(suite=suite, required=True, state=ReportState.MISSING, detail="the run does not mention it")
