"""What a night is judged against: what the plan expected, and what was reported before."""

from __future__ import annotations

from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run, SuiteReport


def as_planned(plan: Plan, run: Run | None) -> Run | None:
    """The run with its suites as the plan expected them.

    run.json comes from a job that ran vendor code, so which suites are required, and how many tests are expected, is
    taken from the plan; a planned suite that the run does not mention has not reported.
    """
    planned = plan.expected(run.device) if run is not None else None
    if run is None or planned is None:
        return run
    reported = {report.suite: report for report in run.suites}
    suites = tuple(
        reported.get(suite.name, _missing(suite.name)).model_copy(
            update={"required": suite.required, "min_tests": suite.min_tests}
        )
        for suite in planned.suites
    )
    return run.model_copy(update={"suites": suites})


def base_of(before: Run | None, run: Run) -> Run | None:
    """What the next night is compared with: for each suite, the last run that reported it completely."""
    complete = {report.suite for report in run.suites if report.state is ReportState.COMPLETE}
    if not complete:
        return before
    if before is None:
        return run
    suites = [report for report in before.suites if report.suite not in complete]
    outcomes = [outcome for outcome in before.outcomes if outcome.suite not in complete]
    return run.model_copy(
        update={
            "suites": (*suites, *(report for report in run.suites if report.suite in complete)),
            "outcomes": (*outcomes, *(outcome for outcome in run.outcomes if outcome.suite in complete)),
        }
    )


def _missing(suite: str) -> SuiteReport:
    return SuiteReport(suite=suite, required=True, state=ReportState.MISSING, detail="the run does not mention it")
