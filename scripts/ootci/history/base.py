"""What a night is judged against: what the plan expected, and what was reported before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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


_BEFORE = ""
"""Stands for the nightly of all that was reported before, and is none's id."""


@dataclass(frozen=True)
class BaseParts:
    """Which runs a base is made of, told by no more than their heads.

    Attributes:
        groups: nightlies, oldest first, each with the suites whose report of that night counts.
        whole: whether it is the last of them as planned, with all that it reported.

    """

    groups: tuple[tuple[str, tuple[str, ...]], ...]
    whole: bool

    @property
    def plan_id(self) -> str:
        """The nightly of the newest of the runs, which the base has its head of."""
        return self.groups[-1][0]


def base_of(before: StoredRun | None, run: StoredRun) -> StoredRun | None:
    """What the next night is compared with: for each suite, the last run that reported it completely."""
    known, told = {run.head.plan_id: run}, None
    if before is not None:
        known[_BEFORE] = before
        told = BaseParts(((_BEFORE, tuple(report.suite for report in before.head.suites)),), whole=True)
    parts = parts_after(told, run)
    return base_from(parts, known.__getitem__) if parts is not None else None


def parts_after(before: BaseParts | None, run: StoredRun) -> BaseParts | None:
    """Of which runs that is made, told by their heads alone; ``run`` is as planned."""
    reported = tuple(report.suite for report in run.head.suites)
    complete = {report.suite for report in run.head.suites if report.state is ReportState.COMPLETE}
    if not complete:
        return before
    older = tuple(
        (plan_id, kept)
        for plan_id, suites in (before.groups if before is not None else ())
        if (kept := tuple(suite for suite in suites if suite not in complete))
    )
    newer = tuple(suite for suite in reported if suite in complete)
    if before is None or (not older and len(newer) == len(reported)):
        return BaseParts(((run.head.plan_id, reported),), whole=True)
    return BaseParts((*older, (run.head.plan_id, newer)), whole=False)


def base_from(parts: BaseParts, planned: Callable[[str], StoredRun]) -> StoredRun:
    """The base that is made of some runs.

    Args:
        parts: which they are.
        planned: by nightly, the attempt that counts, as it was planned.

    """
    newest = planned(parts.plan_id)
    if parts.whole:
        return newest
    *older, (_, suites) = parts.groups
    both, reports = newest.of_suites(suites), []
    for plan_id, names in older:
        run = planned(plan_id)
        both = both.with_tests_of(run.of_suites(names))
        reports += [report for report in run.head.suites if report.suite in names]
    reports += [report for report in newest.head.suites if report.suite in suites]
    return replace(both, head=newest.head.model_copy(update={"suites": tuple(reports)}))


def _missing(suite: str) -> SuiteReport:
    return SuiteReport(suite=suite, required=True, state=ReportState.MISSING, detail="the run does not mention it")
