"""How the tests of one run differ from those of the run before."""

from __future__ import annotations

from collections.abc import Container

from ootci.model.outcome import FAILURES, Outcome, OutcomeName
from ootci.model.run import Run
from ootci.model.verdict import Change, ChangeName

_GOOD = frozenset({OutcomeName.PASSED, OutcomeName.XFAILED})


def changes_between(before: Run | None, after: Run, known: Container[str] = ()) -> tuple[Change, ...]:
    """Every test whose outcome is worth showing, in the order of the later run, then those that disappeared.

    Tests of advisory suites are included. Without a run before, only failures are listed, as new failures. Failing
    tests whose ids are in ``known`` are marked so. Flaky tests are left out: they are no change, but counted.
    """
    old = {outcome.id: _settled(outcome) for outcome in before.outcomes} if before else {}
    changes = [
        Change(
            id=item.id,
            change=change,
            before=old.get(item.id),
            after=item.outcome,
            known=item.is_failure and item.id in known,
        )
        for item in after.outcomes
        if not item.is_flaky
        if (change := _change(old.get(item.id), item.outcome, before is not None)) is not None
    ]
    now = {outcome.id for outcome in after.outcomes}
    gone = [
        Change(id=test_id, change=ChangeName.DISAPPEARED, before=outcome)
        for test_id, outcome in old.items()
        if test_id not in now
    ]
    return (*changes, *gone)


def new_failures(before: Run | None, after: Run, known: Container[str] = ()) -> int:
    """Tests of required suites, other than known ones, that fail now and did not fail, or were not there, before."""
    required = {report.suite for report in after.suites if report.required}
    old = {outcome.id: _settled(outcome) for outcome in before.outcomes} if before else {}
    return sum(
        item.is_failure
        and not item.is_flaky
        and item.suite in required
        and item.id not in known
        and old.get(item.id) not in FAILURES
        for item in after.outcomes
    )


def _settled(outcome: Outcome) -> OutcomeName:
    """What the next run is compared with: a flaky test passed in the end, so that failing for good is news."""
    return OutcomeName.PASSED if outcome.is_flaky else outcome.outcome


def _change(before: OutcomeName | None, after: OutcomeName, comparable: bool) -> ChangeName | None:
    if after in FAILURES:
        if before in FAILURES:
            return ChangeName.STILL_FAILING
        return ChangeName.REGRESSION if before in _GOOD else ChangeName.NEW_FAILURE
    if before is None:
        return ChangeName.APPEARED if comparable else None
    if before in FAILURES:
        return ChangeName.FIXED if after in _GOOD else None
    if after in _GOOD and before not in _GOOD:
        return ChangeName.NEW_PASS
    return None
