"""Which tests have ever failed, and what is kept of their nights."""

from __future__ import annotations

import pytest
from unit.samples import changed, lettered, plan, run

from ootci.history.ever_failed import NIGHTS, EverFailed, ever_failed
from ootci.history.stored import StoredRun, stored
from ootci.history.tables import TestTable
from ootci.model.plan import Plan

TWO = "integration/test_x.py::two"


def gathered(letters: str, more: tuple[StoredRun, ...] = (), table: TestTable | None = None) -> EverFailed:
    """A night for each letter, what came of the test `two`: `.` is without it, `_` unreported, `-` unplanned."""
    table = TestTable() if table is None else table
    plans: list[Plan] = []
    counting: dict[str, StoredRun] = {}
    for number, letter in enumerate(letters):
        plans.append(plan(number, names=() if letter == "-" else ("dev",)))
        if letter in "_-":
            continue
        counting[plans[-1].id] = stored(lettered(number, letter), table)
    return ever_failed("dev", plans, [*counting.values(), *more], counting.get, table)


def test_every_kind_of_night_is_told_from_the_others() -> None:
    found = gathered("pfectasunxX._-")
    assert len(found.rows) == 1
    assert found.nights(0) == b"pffffasunxX._."
    assert found.last[0] == 10


@pytest.mark.parametrize("letter", "fectanxX")
def test_a_test_that_was_once_not_passing_is_there(letter: str) -> None:
    found = gathered(f"pp{letter}pp")
    assert [(found.place(row), found.last[0]) for row in found.rows] == [(0, 2)]


@pytest.mark.parametrize("letters", ["ppsu.pp", "____", "-", ""])
def test_a_test_that_passed_or_was_not_to_be_run_is_not(letters: str) -> None:
    assert list(gathered(letters).rows) == []


def test_only_the_newest_nights_are_known_one_by_one() -> None:
    found = gathered("f" + "p" * (NIGHTS + 4))
    assert found.width == NIGHTS
    assert found.last[0] == 0
    assert found.nights(0) == b"p" * NIGHTS


def test_an_attempt_that_was_replaced_is_seen_and_does_not_count() -> None:
    table = TestTable()
    first = stored(run(1, integration={"two": "crashed"}), table)
    found = gathered("ppp", more=(first,), table=table)
    assert found.last[0] == 1
    assert found.nights(0) == b"ppp"


def test_of_a_test_that_got_another_row_all_nights_are_there() -> None:
    table = TestTable()
    before = stored(changed(run(0, integration={"two": "passed"}), lambda _: True, title="before"), table)
    after = stored(run(1, integration={"two": "failed"}), table)
    plans = [plan(0), plan(1)]
    counting = {plans[0].id: before, plans[1].id: after}
    found = ever_failed("dev", plans, [before, after], counting.get, table)
    rows = table.rows_of_id(TWO)
    assert len(rows) == 2
    nights = [found.nights(place) for row in rows if (place := found.place(row)) is not None]
    assert nights == [b"p.", b".f"]


def test_the_newest_night_is_known_of_every_test() -> None:
    table = TestTable()
    found = gathered("pf", table=table)
    assert {table[row].id: chr(state) for row, state in enumerate(found.newest)} == {
        "smoke/test_x.py::one": "p",
        TWO: "f",
    }
