"""How the tests of one run differ from those of the run before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.samples import run

from ootci.history import difference
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.outcome import FAILURES, Counts, OutcomeName
from ootci.model.run import Run
from ootci.model.verdict import Change, ChangeName

_OUTCOMES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([name.value for name in OutcomeName]))

_MIRROR = {
    ChangeName.REGRESSION: ChangeName.FIXED,
    ChangeName.FIXED: ChangeName.REGRESSION,
    ChangeName.STILL_FAILING: ChangeName.STILL_FAILING,
    ChangeName.APPEARED: ChangeName.DISAPPEARED,
    ChangeName.DISAPPEARED: ChangeName.APPEARED,
}
"""What a change is when the two runs are exchanged; the others have no mirror."""


def _stored(*runs: Run | None) -> list[StoredRun | None]:
    table = TestTable()
    return [stored(item, table) if item else None for item in runs]


def changes_between(before: Run | None, after: Run) -> tuple[Change, ...]:
    old, new = _stored(before, after)
    assert new is not None
    return difference.changes_between(old, new)


def new_failures(before: Run | None, after: Run) -> int:
    old, new = _stored(before, after)
    assert new is not None
    return len(difference.newly_failing(old, new))


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("passed", "failed", "regression"),
        ("xfailed", "crashed", "regression"),
        ("failed", "passed", "fixed"),
        ("timed_out", "error", "still_failing"),
        ("skipped", "failed", "new_failure"),
        ("not_run", "failed", "new_failure"),
        (None, "failed", "new_failure"),
        ("unsupported", "passed", "new_pass"),
        ("xpassed", "passed", "new_pass"),
        (None, "passed", "appeared"),
        (None, "skipped", "appeared"),
        ("passed", None, "disappeared"),
        ("failed", None, "disappeared"),
        ("passed", "passed", None),
        ("passed", "skipped", None),
        ("failed", "skipped", None),
        ("skipped", "unsupported", None),
    ],
)
def test_a_change_has_one_name(before: str | None, after: str | None, change: str | None) -> None:
    old = run(0, smoke={"t": before} if before else {}, integration={})
    new = run(1, smoke={"t": after} if after else {}, integration={})
    assert [item.change.value for item in changes_between(old, new)] == ([change] if change else [])


def test_without_a_run_before_only_failures_are_worth_showing() -> None:
    found = changes_between(None, run(0, smoke={"a": "passed", "b": "failed", "c": "skipped"}))
    assert [(item.id, item.change) for item in found] == [("smoke/test_x.py::b", ChangeName.NEW_FAILURE)]


def test_changes_are_in_the_order_of_their_ids_and_then_what_is_gone() -> None:
    old = run(0, smoke={"z": "passed", "a": "failed", "m": "passed"})
    new = run(1, smoke={"z": "failed", "b": "passed", "a": "passed"})
    names = [item.id.rpartition("::")[2] for item in changes_between(old, new)]
    assert names == ["a", "b", "z", "m"]


def test_new_failures_are_those_of_required_suites() -> None:
    advisory: dict[str, dict[str, object]] = {"integration": {"required": False}}
    old = run(0, smoke={"a": "failed", "b": "passed"})
    new = run(1, smoke={"a": "failed", "b": "failed", "c": "crashed"}, integration={"two": "failed"}, reports=advisory)
    assert new_failures(old, new) == 2
    assert new_failures(None, new) == 3


@given(_OUTCOMES, _OUTCOMES)
def test_exchanging_the_runs_mirrors_every_change_that_has_a_mirror(one: dict[str, str], two: dict[str, str]) -> None:
    first, second = run(0, smoke=one, integration={}), run(1, smoke=two, integration={})
    there = {item.id: item for item in changes_between(first, second)}
    back = {item.id: item for item in changes_between(second, first)}
    for test_id, item in there.items():
        if item.change is ChangeName.APPEARED:
            assert back[test_id].change is ChangeName.DISAPPEARED
        elif item.change is ChangeName.DISAPPEARED:
            # A failing test that comes back is told as a failure, which says more than that it appeared.
            expected = ChangeName.NEW_FAILURE if item.before in FAILURES else ChangeName.APPEARED
            assert back[test_id].change is expected
        elif item.change in _MIRROR:
            assert back[test_id].change is _MIRROR[item.change]
        if test_id in back:
            assert (back[test_id].before, back[test_id].after) == (item.after, item.before)


@given(_OUTCOMES)
def test_a_run_compared_with_itself_has_only_what_keeps_failing(outcomes: dict[str, str]) -> None:
    record = run(0, smoke=outcomes)
    assert {item.change for item in changes_between(record, record)} <= {ChangeName.STILL_FAILING}
    assert new_failures(record, record) == 0


@given(_OUTCOMES)
def test_counts_sum_to_the_total(outcomes: dict[str, str]) -> None:
    record = run(0, smoke=outcomes, integration={})
    counts = Counts.of(record.outcomes)
    assert counts.total == len(outcomes)
    assert counts.executed == counts.total - counts.skipped - counts.unsupported - counts.not_run
    assert counts.failures == sum(item.is_failure for item in record.outcomes) <= counts.executed


@given(_OUTCOMES)
def test_the_pass_rate_has_its_two_numbers(outcomes: dict[str, str]) -> None:
    rate = run(0, smoke=outcomes, integration={}).counts.pass_rate
    not_executed = {"skipped", "unsupported", "not_run"}
    assert rate.executed == sum(name not in not_executed for name in outcomes.values())
    assert (rate.passed, str(rate)) == (list(outcomes.values()).count("passed"), f"{rate.passed} of {rate.executed}")
