"""The tests of a device that fail or failed lately, night by night."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ootci.history.ever_failed import ABSENT, FAILED, FLAKY, PASSED, PASSES, SILENT, EverFailed
from ootci.history.nights import Seen, mark_of, streak_of
from ootci.history.tables import TestTable
from ootci.model.cluster import Streak
from ootci.model.outcome import OutcomeName
from ootci.model.plan import Plan
from ootci.model.words import many

from ..nights import Look, NightGrid, NightsOf, cells_of, night_grid

ROWS = 12
"""Tests that are drawn; the others are counted."""


@dataclass(frozen=True)
class TestNights:
    """One test on one device: its nights, and since when it fails, or that it no longer does."""

    __test__ = False  # not a test of pytest, whatever its name

    id: str
    nights: NightsOf
    note: str


def recent_failures(
    found: EverFailed,
    plans: Sequence[Plan],
    pages: Mapping[str, str],
    tests: TestTable,
    left_out: Container[int] = (),
) -> tuple[list[TestNights], int]:
    """The tests that fail or failed lately, those first that fail now, and how many there are besides.

    Args:
        found: the device's tests that were ever not passing.
        plans: every nightly, oldest first.
        pages: the address of the page of each of its runs, by nightly.
        left_out: rows of tests whose failures are not counted against the device.

    """
    nightlies = plans[-found.width :] if found.width else ()
    grid = night_grid((plan.id, plan.created_at) for plan in nightlies)
    known: dict[str, str] = {}
    for place, row in enumerate(found.rows):
        nights = found.nights(place).decode("ascii")
        if row not in left_out and (FAILED in nights or FLAKY in nights):
            known[tests[row].id] = merged(nights, known.get(tests[row].id, nights))
    order = sorted(known, key=lambda test: (_streak(known[test], nightlies) is None, -last_failed(known[test]), test))
    rows = [
        TestNights(test, _nights(known[test], nightlies, grid, pages), _note(known[test], nightlies))
        for test in order[:ROWS]
    ]
    return rows, len(order) - len(rows)


LOOKS: Mapping[str, Look] = {
    ABSENT: Look("gap", "gap", "not in the run"),
    PASSED: Look("ok", None, "passed"),
    FAILED: Look("failing", "cross", "failed"),
    FLAKY: Look("flaky", "wave", "failed, then passed on retry"),
    "x": Look("known", "known", "failed as expected"),
    "X": Look("known", "known", "passed against expectation"),
    "n": Look("lost", "minus", "collected and not run"),
    "s": Look("idle", None, "skipped"),
    "u": Look("idle", None, "unsupported"),
    SILENT: Look("silent", "silent", "no report"),
}
"""How each letter of a test's nights is shown."""
_OUTCOMES = {FAILED: OutcomeName.FAILED, **dict.fromkeys(PASSES, OutcomeName.PASSED)}


def merged(*nights: str) -> str:
    """The nights of a test that has several rows: they are never in one run together, and `.` is the lowest letter."""
    return "".join(map(max, zip(*nights, strict=True)))


def last_failed(nights: str) -> int:
    """The place of the last night on which a test failed, flakes included; -1 where there is none."""
    return max(nights.rfind(FAILED), nights.rfind(FLAKY))


def _nights(letters: str, plans: Sequence[Plan], grid: NightGrid, pages: Mapping[str, str]) -> NightsOf:
    cells = tuple(cells_of(zip(plans, letters, strict=True), grid, LOOKS, pages))
    failed = many(letters.count(FAILED) + letters.count(FLAKY), "night")
    return NightsOf(grid.width, cells, f"failed on {failed} of the last {len(letters)}")


def _streak(letters: str, plans: Sequence[Plan]) -> Streak | None:
    newest_first = zip(reversed(letters), reversed(plans), strict=True)
    return streak_of(Seen(mark_of(plan), _OUTCOMES.get(letter)) for letter, plan in newest_first)


def _note(letters: str, plans: Sequence[Plan]) -> str:
    """Since when it fails; of one that does not, when it last did."""
    streak = _streak(letters, plans)
    if streak is not None:
        first = streak.first_failed
        return "tonight" if first.plan_id == plans[-1].id else f"since {_day(first.date)}"
    last = last_failed(letters)
    if letters[last] == FLAKY:
        return many(letters.count(FLAKY), "flake")
    return f"last failed {_day(plans[last].created_at)}"


def _day(when: datetime) -> str:
    return f"{when.day} {when:%b}"
