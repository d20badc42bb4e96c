"""How the tests of one run differ from those of the run before."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable

from ootci.model.difference import CHANGE_OF
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.verdict import Change, ChangeName

from .states import changed_rows
from .stored import Failure, StoredRun


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
    rows = {*_changed(before, after), *(item.row for item in after.failures)}
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


def new_failures(before: StoredRun | None, after: StoredRun, known: Container[str] = ()) -> int:
    """How many tests are newly failing."""
    return len(newly_failing(before, after, known))


def newly_failing(before: StoredRun | None, after: StoredRun, known: Container[str] = ()) -> tuple[Failure, ...]:
    """Tests of required suites, other than known ones, that fail now and did not fail, or were not there, before."""
    required = after.head.required_suites
    failing = [item for item in after.failures if not item.is_flaky and item.suite in required and item.id not in known]
    old = _settled(before, _rows_of_ids(before, [item.id for item in failing]))
    return tuple(item for item in failing if old.get(item.id) not in FAILURES)


def _changed(before: StoredRun | None, after: StoredRun) -> list[int]:
    return changed_rows(before.states, after.states) if before is not None else []


def _rows_of_ids(run: StoredRun | None, ids: Iterable[str]) -> list[int]:
    return [row for test_id in ids for row in run.tests.rows_of_id(test_id)] if run is not None else []


def _outcomes(run: StoredRun, rows: Iterable[int]) -> dict[str, OutcomeName]:
    """What the tests of some rows came to, by id, of those that are in the run."""
    return {run.tests[row].id: outcome for row in rows if (outcome := run.outcome(row)) is not None}


def _settled(run: StoredRun | None, rows: Iterable[int]) -> dict[str, OutcomeName]:
    """What the next run is compared with: a flaky test passed in the end, so that failing for good is news."""
    if run is None:
        return {}
    return {
        run.tests[row].id: OutcomeName.PASSED if run.is_flaky(row) else outcome
        for row in rows
        if (outcome := run.outcome(row)) is not None
    }
