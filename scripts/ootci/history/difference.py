"""How any two runs differ, test by test, and whether the second is worse."""

from __future__ import annotations

from collections.abc import Container, Iterator

from ootci.model.build import StageResult, StageStatus
from ootci.model.difference import CHANGE_OF, FLAKY, Difference, RunFacts, TestDifference
from ootci.model.outcome import NOT_EXECUTED, Outcome
from ootci.model.run import ReportState, Run
from ootci.model.torch_build import commits_between
from ootci.model.verdict import FAILING, NEW_FAILURES, ChangeName


def difference(before: Run, after: Run, known: Container[str] = ()) -> Difference:
    """How ``after`` differs from ``before``, of the same device or of two.

    Args:
        known: tests whose failure in B its vendor knew of.

    """
    old, new = {item.id: item for item in before.outcomes}, {item.id: item for item in after.outcomes}
    required = before.required_suites | after.required_suites
    tests, unchanged = [], 0
    for test_id in {**new, **old}:
        a, b = old.get(test_id), new.get(test_id)
        results = _result(a), _result(b)
        change = CHANGE_OF[results]
        if change is None and results[0] == results[1]:
            unchanged += 1
            continue
        shown = b or a
        failing = next((item for item in (b, a) if item is not None and item.is_failure), None)
        tests.append(
            TestDifference(
                id=test_id,
                suite=shown.suite if shown else "",
                change=change,
                before=results[0],
                after=results[1],
                known=change in FAILING and test_id in known,
                required=shown is not None and shown.suite in required,
                message=failing.message if failing else None,
            )
        )
    return Difference(
        before=RunFacts.of(before),
        after=RunFacts.of(after),
        worse=tuple(_worse(before, after, tests)),
        commits=commits_between(before.torch, after.torch),
        tests=tuple(tests),
        unchanged=unchanged,
        no_longer_run=sum(_executed(item) and item.id in new and not _executed(new[item.id]) for item in old.values()),
    )


def _result(outcome: Outcome | None) -> str | None:
    if outcome is None:
        return None
    return FLAKY if outcome.is_flaky else outcome.outcome.value


def _executed(outcome: Outcome) -> bool:
    return outcome.outcome not in NOT_EXECUTED


def _worse(before: Run, after: Run, tests: list[TestDifference]) -> Iterator[str]:
    new = sum(item.change in NEW_FAILURES and item.required and not item.known for item in tests)
    if new:
        yield f"{new} {'test fails' if new == 1 else 'tests fail'} in B and did not fail in A"
    reported = {report.suite for report in after.suites if report.state is ReportState.COMPLETE}
    gone = sum(item.change is ChangeName.DISAPPEARED and item.required and item.suite in reported for item in tests)
    if gone:
        yield f"{gone} {'test of A is' if gone == 1 else 'tests of A are'} not in B"
    stages = {stage.name: stage for stage in before.stages}
    broken = [stage for stage in after.stages if _broke(stage) and _came_through(stages.get(stage.name))]
    for stage in broken:
        yield f"the stage {stage.name} {stage.status.value} in B: {stage.reason or 'no reason was given'}"
    whole = {report.suite for report in before.suites if report.required and report.state is ReportState.COMPLETE}
    for report in after.suites:
        not_started = report.state is ReportState.NOT_EXPECTED and broken
        if report.suite in whole and report.state is not ReportState.COMPLETE and not not_started:
            detail = f": {report.detail}" if report.detail else ""
            yield f"the report of the suite {report.suite} is {report.state.value} in B and complete in A{detail}"


def _broke(stage: StageResult) -> bool:
    return stage.status not in (StageStatus.PASSED, StageStatus.NOT_RUN) and not stage.only_tests


def _came_through(stage: StageResult | None) -> bool:
    return stage is not None and (stage.status is StageStatus.PASSED or stage.only_tests)
