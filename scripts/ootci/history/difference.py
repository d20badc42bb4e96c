"""How any two runs differ, test by test, and whether the second is worse; and what is new since the run before."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator

from ootci.model.difference import CHANGE_OF, FLAKY, Difference, RunFacts, TestDifference
from ootci.model.outcome import FAILURES, NOT_EXECUTED, Outcome, OutcomeName
from ootci.model.run import ReportState, Run
from ootci.model.torch_build import commits_between
from ootci.model.verdict import FAILING, NEW_FAILURES, Change, ChangeName
from ootci.model.words import many

from .states import changed_rows
from .stored import Failure, StoredRun


def difference(before: Run, after: Run, known: Container[str] = ()) -> Difference:
    """How ``after`` differs from ``before``, a run of the same device or of another.

    Failures of ``after`` whose ids are in ``known`` were known to its vendor.
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
        yield f"{many(new, 'test fails', 'tests fail')} in B and did not fail in A"
    complete = after.complete_suites
    gone = sum(item.change is ChangeName.DISAPPEARED and item.required and item.suite in complete for item in tests)
    if gone:
        yield f"{many(gone, 'test of A is', 'tests of A are')} not in B"
    came_through = {stage.name for stage in before.stages if stage.came_through}
    broken = [stage for stage in after.stages if stage.broke and stage.name in came_through]
    for stage in broken:
        yield f"the stage {stage.name} {stage.status.value} in B: {stage.reason or 'no reason was given'}"
    for report in after.suites:
        not_started = report.state is ReportState.NOT_EXPECTED and broken
        was_complete = report.suite in before.required_suites & before.complete_suites
        if was_complete and report.suite not in complete and not not_started:
            detail = f": {report.detail}" if report.detail else ""
            yield f"the report of the suite {report.suite} is {report.state.value} in B and complete in A{detail}"


def changes_between(
    before: StoredRun | None,
    after: StoredRun,
    known: Container[str] = (),
    lost: Iterable[str] = (),
    unsettled: Collection[str] = (),
) -> tuple[Change, ...]:
    """Every test whose outcome is worth showing, by id, and after them those that disappeared.

    Tests of advisory suites are included, and those in ``lost``, which disappeared on an earlier night. Without a run
    before, only failures are listed, as new failures. Failing tests whose ids are in ``known`` are marked so. Flaky
    tests are left out, as are failing ones in ``unsettled``, which do not pass on the device yet: they are no change.
    """
    changed = changed_rows(before.states, after.states) if before is not None else ()
    rows = {*changed, *(item.row for item in after.failures)}
    old, now = _settled(before, rows), _outcomes(after, rows)
    no_change = {*unsettled, *(item.id for item in after.failures if item.is_flaky)}
    changes = [
        Change(
            id=test_id,
            change=change,
            before=old.get(test_id),
            after=outcome,
            known=outcome in FAILURES and test_id in known,
        )
        for test_id, outcome in sorted(now.items())
        if test_id not in no_change and (before is not None or outcome in FAILURES)
        if (change := CHANGE_OF[old.get(test_id), outcome]) is not None
    ]
    gone_tonight = {test_id: outcome for test_id, outcome in old.items() if test_id not in now}
    earlier = {test_id: None for test_id in lost if after.result(test_id)[0] is None}
    gone = [
        Change(id=test_id, change=ChangeName.DISAPPEARED, before=outcome)
        for test_id, outcome in sorted({**earlier, **gone_tonight}.items())
    ]
    return (*changes, *gone)


def newly_failing(before: StoredRun | None, after: StoredRun, known: Container[str] = ()) -> tuple[Failure, ...]:
    """Tests of required suites, other than known ones, that fail now and did not fail, or were not there, before.

    Those of a suite that was not run before are listed only where no other test is: they are no news.
    """
    required = after.head.required_suites
    failing = [item for item in after.failures if not item.is_flaky and item.suite in required and item.id not in known]
    tests = before.tests if before is not None else after.tests
    old = _settled(before, (row for item in failing for row in tests.rows_of_id(item.id)))
    new = tuple(item for item in failing if old.get(item.id) not in FAILURES)
    return tuple(item for item in new if was_run(before, item.suite)) or new


def was_run(before: StoredRun | None, suite: str) -> bool:
    """Whether a run included a suite, whatever its result; a run without a test included none."""
    return before is not None and any(before.states) and any(report.suite == suite for report in before.head.suites)


def _outcomes(run: StoredRun, rows: Iterable[int]) -> dict[str, OutcomeName]:
    """The results of the tests of some rows that are in the run, by id."""
    return {run.tests[row].id: outcome for row in rows if (outcome := run.outcome(row)) is not None}


def _settled(run: StoredRun | None, rows: Iterable[int]) -> dict[str, OutcomeName]:
    """The result for comparing with the next run: a flaky test passed in the end, so a permanent failure is new."""
    if run is None:
        return {}
    return {
        run.tests[row].id: OutcomeName.PASSED if run.is_flaky(row) else outcome
        for row in rows
        if (outcome := run.outcome(row)) is not None
    }
