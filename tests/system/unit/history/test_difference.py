"""How any two runs differ: every test is accounted for, what makes the second one worse, and what is new in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.samples import changed, retries, run

from ootci.history.difference import changes_between, difference, newly_failing
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.difference import CHANGE_OF, FLAKY
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild, commits_between
from ootci.model.verdict import NEW_FAILURES, Change, ChangeName

_OUTCOMES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([name.value for name in OutcomeName]))


_MIRROR = {
    ChangeName.REGRESSION: ChangeName.FIXED,
    ChangeName.FIXED: ChangeName.REGRESSION,
    ChangeName.STILL_FAILING: ChangeName.STILL_FAILING,
    ChangeName.APPEARED: ChangeName.DISAPPEARED,
    ChangeName.DISAPPEARED: ChangeName.APPEARED,
}
"""What a change is when the two runs are exchanged; the others have no mirror."""


def _id(name: str) -> str:
    return f"smoke/test_x.py::{name}"


def _with_flaky(record: Run, name: str) -> Run:
    """The same run, in which a failing test passed when it was run again."""
    return changed(record, lambda item: item.id == _id(name), attempts=retries("passed"))


def _stored(before: Run | None, after: Run) -> tuple[StoredRun | None, StoredRun]:
    table = TestTable()
    return stored(before, table) if before else None, stored(after, table)


def _changes(before: Run | None, after: Run) -> tuple[Change, ...]:
    return changes_between(*_stored(before, after))


def _new_failures(before: Run | None, after: Run) -> int:
    return len(newly_failing(*_stored(before, after)))


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
    found = [(item.change.value, item.before, item.after) for item in _changes(old, new)]
    assert found == ([(change, before, after)] if change else [])


def test_without_a_run_before_only_failures_are_worth_showing() -> None:
    found = _changes(None, run(0, smoke={"a": "passed", "b": "failed", "c": "skipped"}))
    assert [(item.id, item.change) for item in found] == [("smoke/test_x.py::b", ChangeName.NEW_FAILURE)]


def test_changes_are_in_the_order_of_their_ids_and_then_what_is_gone() -> None:
    old = run(0, smoke={"z": "passed", "a": "failed", "m": "passed"})
    new = run(1, smoke={"z": "failed", "b": "passed", "a": "passed"})
    names = [item.id.rpartition("::")[2] for item in _changes(old, new)]
    assert names == ["a", "b", "z", "m"]


def test_new_failures_are_those_of_required_suites() -> None:
    advisory: dict[str, dict[str, object]] = {"integration": {"required": False}}
    old = run(0, smoke={"a": "failed", "b": "passed"})
    new = run(1, smoke={"a": "failed", "b": "failed", "c": "crashed"}, integration={"two": "failed"}, reports=advisory)
    assert _new_failures(old, new) == 2
    assert _new_failures(None, new) == 3


@pytest.mark.parametrize(("before", "after"), [pair for pair in CHANGE_OF if FLAKY not in pair])
def test_exchanging_the_runs_mirrors_every_change_that_has_a_mirror(before: str | None, after: str | None) -> None:
    there, back = CHANGE_OF[before, after], CHANGE_OF[after, before]
    if there is ChangeName.DISAPPEARED and before in FAILURES:
        # A failing test that comes back is told as a failure, which says more than that it appeared.
        assert back is ChangeName.NEW_FAILURE
    elif there in _MIRROR:
        assert back is _MIRROR[there]


@given(_OUTCOMES, _OUTCOMES)
def test_every_test_of_either_run_is_counted_once(before: dict[str, str], after: dict[str, str]) -> None:
    found = difference(run(0, smoke=before, integration={}), run(1, smoke=after, integration={}))
    assert len({item.id for item in found.tests}) == len(found.tests)
    assert found.total == len(before.keys() | after.keys())
    told = {item.id: (item.before, item.after) for item in found.tests}
    for name in before.keys() | after.keys():
        ends = before.get(name), after.get(name)
        fails = ends[1] in {outcome.value for outcome in FAILURES}
        assert (told.get(_id(name)) == ends) is (ends[0] != ends[1] or fails)


@given(_OUTCOMES, _OUTCOMES)
def test_b_is_worse_for_its_tests_exactly_when_one_newly_fails_or_disappeared(
    before: dict[str, str], after: dict[str, str]
) -> None:
    failures = {outcome.value for outcome in FAILURES}
    newly = sum(value in failures and before.get(name) not in failures for name, value in after.items())
    gone = len(before.keys() - after.keys())
    found = difference(run(0, smoke=before, integration={}), run(1, smoke=after, integration={}))
    assert sum(item.change in NEW_FAILURES for item in found.tests) == newly
    assert [text.split()[0] for text in found.worse] == [str(count) for count in (newly, gone) if count]


@pytest.mark.parametrize(
    ("smoke", "suites", "worse"),
    [
        ({"a": "passed", "c": "passed", "d": "passed"}, {}, ("1 test of A is not in B",)),
        ({"a": "passed"}, {"state": "truncated", "detail": "cut"}, None),
        ({"a": "passed"}, {"required": False}, ()),
    ],
    ids=["one-lost-two-new", "cut-report", "advisory"],
)
def test_a_disappeared_test_is_worse(
    smoke: dict[str, str], suites: dict[str, object], worse: tuple[str, ...] | None
) -> None:
    before = run(0, smoke={"a": "passed", "b": "passed"}, reports={"smoke": {"required": "required" not in suites}})
    found = difference(before, run(1, smoke=smoke, reports={"smoke": suites}))
    # A suite whose report is not whole is worse for that, and which tests it would have had is not known.
    cut = ("the report of the suite smoke is truncated in B and complete in A: cut",)
    assert found.worse == (cut if worse is None else worse)


@given(_OUTCOMES)
def test_nothing_is_worse_than_itself(outcomes: dict[str, str]) -> None:
    record = run(0, smoke=outcomes, stages={"build": "failed"})
    assert difference(record, record).worse == ()
    assert {item.change for item in _changes(record, record)} <= {ChangeName.STILL_FAILING}
    assert _new_failures(record, record) == 0


def test_a_known_failure_and_one_of_an_advisory_suite_are_shown_and_do_not_count() -> None:
    before = run(0, smoke={"a": "passed"}, integration={"b": "passed"})
    after = run(1, smoke={"a": "failed"}, integration={"b": "failed"})
    advisory = [before, after]
    for index, record in enumerate(advisory):
        suites = [report.model_copy(update={"required": report.suite == "smoke"}) for report in record.suites]
        advisory[index] = record.model_copy(update={"suites": tuple(suites)})
    found = difference(*advisory, known={_id("a")})
    assert found.worse == ()
    assert [(item.change, item.known, item.required) for item in found.tests] == [
        (ChangeName.REGRESSION, True, True),
        (ChangeName.REGRESSION, False, False),
    ]
    assert difference(*advisory).worse == ("1 test fails in B and did not fail in A",)


def test_what_no_class_holds_is_told_too() -> None:
    before = run(0, smoke={"a": "passed", "b": "failed", "c": "passed"}, integration={})
    after = _with_flaky(run(1, smoke={"a": "skipped", "b": "skipped", "c": "failed"}, integration={}), "c")
    found = difference(before, after)
    assert {item.id: (item.change, item.before, item.after) for item in found.tests} == {
        _id("a"): (None, "passed", "skipped"),
        _id("b"): (None, "failed", "skipped"),
        _id("c"): (None, "passed", "flaky"),
    }
    assert (found.no_longer_run, found.worse) == (2, ())


@pytest.mark.parametrize(
    ("stages", "reports", "reasons"),
    [
        (
            {"build": "failed", "import": "not_run", "check": "not_run", "smoke": "not_run", "integration": "not_run"},
            {"smoke": {"state": "not_expected"}, "integration": {"state": "not_expected"}},
            ["the stage build failed in B: build failed"],
        ),
        (
            {"smoke": "crashed"},
            {"smoke": {"state": "truncated", "detail": "cut"}},
            [
                "the stage smoke crashed in B: smoke crashed",
                "the report of the suite smoke is truncated in B and complete in A: cut",
            ],
        ),
        ({}, {"smoke": {"state": "missing"}}, ["the report of the suite smoke is missing in B and complete in A"]),
    ],
)
def test_silence_is_worse(stages: dict[str, str], reports: dict[str, dict[str, object]], reasons: list[str]) -> None:
    integration: dict[str, str] | None = {} if "integration" in reports else None
    before, after = run(0), run(1, smoke={}, integration=integration, stages=stages, reports=reports)
    assert list(difference(before, after).worse) == reasons
    assert difference(after, before).worse == ()


def test_a_suite_that_failed_by_its_tests_alone_is_no_broken_stage() -> None:
    found = difference(run(0), run(1, smoke={"one": "failed"}))
    assert found.worse == ("1 test fails in B and did not fail in A",)


def test_the_message_is_that_of_the_side_that_fails() -> None:
    before = changed(run(0, smoke={"a": "failed", "b": "passed", "c": "failed"}), lambda _: True, message="old")
    after = changed(run(1, smoke={"a": "passed", "b": "failed", "c": "failed"}), lambda _: True, message="new")
    found = {item.id: item.message for item in difference(before, after).tests if item.suite == "smoke"}
    assert found == {_id("a"): "old", _id("b"): "new", _id("c"): "new"}


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("a" * 40, "b" * 40, f"https://github.com/pytorch/pytorch/compare/{'a' * 40}...{'b' * 40}"),
        ("a" * 40, "a" * 40, None),
        ("a" * 40, None, None),
        ("a" * 40, "../../evil", None),
        ("a" * 7, "b" * 40, None),
        ("a" * 40, "B" * 40, None),
    ],
)
def test_the_page_of_the_commits_between(first: str, second: str | None, found: str | None) -> None:
    before, after = TorchBuild(version="1", git_version=first), TorchBuild(version="2", git_version=second)
    assert commits_between(before, after) == found
    assert commits_between(None, after) is None
