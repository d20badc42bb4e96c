"""What failed on a device's newest nights, by name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from unit.samples import on_release, plan, run

import ootci.history.named as named_module
from ootci.history.excuses import Excuses
from ootci.history.first_failures import failing_of
from ootci.history.named import KEPT, Border, NamedFailures, named_failures, names_of
from ootci.history.nights import DeviceNight
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.cluster import Signature

TWO = "integration/test_x.py::two"
SAID = {"a": Signature.of("RuntimeError: a"), "b": Signature.of("RuntimeError: b")}
SILENT = Signature.of(f"{TWO}: it gave no text")


def nights(letters: str) -> NamedFailures:
    """A night for each letter: what the test `two` failed of; `?` said nothing, `p` passed, `_` is without a report."""
    table, plans, counting = TestTable(), [], {}
    for number, letter in enumerate(letters):
        plans.append(plan(number))
        if letter != "_":
            outcome = "passed" if letter == "p" else "failed"
            signatures = {TWO: SAID[letter]} if letter in SAID else {}
            counting[plans[-1].id] = stored(run(number, integration={"two": outcome}), table, signatures)
    return named_failures(plans, counting.get)


def test_each_name_has_its_nights_and_its_last_tests() -> None:
    found = nights("aap_b?b")
    assert {item.signature: bin(item.nights) for item in found.found.values()} == {
        SAID["a"]: "0b11",
        SAID["b"]: "0b1010000",
        SILENT: "0b100000",
    }
    assert bin(found.reported) == "0b1110111"
    item = found.found[SAID["a"].id]
    assert (item.tests, item.first, item.where) == (1, (TWO,), "failures")
    assert not found.is_cut


def passed(border: Border) -> str | None:
    return border.passed.plan_id if border.passed is not None else None


def test_where_an_error_began_and_ended_the_same_tests_passed() -> None:
    found = nights("p_aa?b_p")
    for signature, first, last in ((SAID["a"], 2, 3), (SILENT, 4, 4), (SAID["b"], 5, 5)):
        began, ended = found.borders[signature.id]
        assert (began.failed.plan_id, ended.failed.plan_id) == (plan(first).id, plan(last).id)
        # With another error, or without a report, nothing has passed.
        assert (passed(began), passed(ended)) == (plan(0).id, plan(7).id)
    began, ended = nights("ab").borders[SAID["a"].id]
    assert (passed(began), passed(ended)) == (None, None)


def test_a_night_on_a_release_instead_of_the_nightly_is_no_border() -> None:
    table = TestTable()
    failed = stored(run(0, integration={"two": "failed"}), table, {TWO: SAID["a"]})
    for torch, expected in ((None, plan(1).id), ("2.13.0", None)):
        later = run(1, integration={"two": "passed"})
        later = on_release(later, torch) if torch else later
        runs = {plan(0).id: failed, plan(1).id: stored(later, table)}
        found = named_failures([plan(0), plan(1)], runs.get)
        assert passed(found.borders[SAID["a"].id].ended) == expected


def test_a_stage_ends_when_it_comes_through() -> None:
    runs = {plan(0).id: stored(run(0, stages={"check": "failed"})), plan(1).id: stored(run(1))}
    (found,) = named_failures([plan(0), plan(1)], runs.get).borders.values()
    assert passed(found.ended) == plan(1).id


@pytest.mark.parametrize(("letters", "expected"), [("paap", True), ("pa_ap", True), ("papap", False), ("pabap", False)])
def test_an_error_is_unbroken_where_every_report_in_between_has_it(letters: str, expected: bool) -> None:
    assert nights(letters).is_unbroken(SAID["a"].id) is expected


def test_only_the_newest_nights_are_looked_at() -> None:
    found = nights("b" + "a" * (KEPT + 1))
    assert [item.signature for item in found.found.values()] == [SAID["a"]]
    assert found.found[SAID["a"].id].nights == found.reported == (1 << KEPT) - 1


def test_of_names_without_end_those_seen_last_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_module, "NAMES", 1)
    found = nights("aaba")
    assert {item.signature: bin(item.nights) for item in found.found.values()} == {SAID["a"]: "0b1011"}
    assert found.is_cut
    assert (bin(found.cut), found.newest) == ("0b100", {SAID["a"].id})


def everything() -> StoredRun:
    """A run in which a stage broke, and tests failed in every way, with and without a word."""
    outcomes = {"two": "failed", "three": "crashed", "four": "xfailed", "five": "xfailed", "six": "not_run"}
    made = stored(run(0, integration=outcomes, stages={"check": "failed"}))
    ids = {test.id.partition("::")[2]: row for row, test in enumerate(made.tests.tests)}
    return replace(made, signatures={ids["two"]: SAID["a"], ids["four"]: SAID["b"]})


def test_names_are_those_of_the_judge() -> None:
    """An address that the judge's clusters lead to has to be the same when the night is past."""
    made = everything()
    judged = {(item.test_id, item.name) for item in failing_of([DeviceNight(plan(0), made)], Excuses())}
    assert {(item, signature) for item, signature, _ in names_of(made)} == judged
    assert len(judged) == 4
    found = named_failures([plan(0)], {plan(0).id: made}.get).found
    assert found.keys() == {signature.id for _, signature in judged}


def test_each_says_where_its_text_stands() -> None:
    assert {item.rpartition(":")[2]: where for item, _, where in names_of(everything())} == {
        "check": "stages",
        "two": "failures",
        "three": "failures",
        "four": "",
    }
