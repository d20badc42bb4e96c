"""The tests of a device that fail or failed lately, night by night."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.history.not_passing import Came, NotPassing
from ootci.history.tables import TestTable
from ootci.model.plan import Plan

from ..nights import Cell, NightGrid, NightsOf, night_grid
from ..places import Places
from ..words import many, short_day

ROWS = 12
"""Tests that are drawn; the others are counted."""


@dataclass(frozen=True)
class TestNights:
    """One test on one device.

    Attributes:
        id: the test.
        page: its nights on every device, from the top; None where no page shows it.
        nights: what came of it.
        note: since when it fails, or that it no longer does.

    """

    __test__ = False  # not a test of pytest, whatever its name

    id: str
    page: str | None
    nights: NightsOf
    note: str

    @property
    def file(self) -> str:
        """The file in which it stands, with its suite."""
        return self.id.partition("::")[0]

    @property
    def name(self) -> str:
        """Its name in that file."""
        return self.id.partition("::")[2] or self.id


@dataclass(frozen=True)
class RecentFailures:
    """The tests that fail or failed lately, those first that fail now, and how many there are besides."""

    grid: NightGrid
    rows: tuple[TestNights, ...]
    more: int


def recent_failures(
    found: NotPassing, plans: Sequence[Plan], pages: Mapping[str, str], tests: TestTable, places: Places
) -> RecentFailures | None:
    """What a device's page shows of its tests, night by night.

    Args:
        found: the device's tests that were ever not passing.
        plans: every nightly, oldest first.
        pages: the page of each of its runs, from the top, by nightly.
        tests: every test of the history.
        places: where each test's nights on every device are shown.

    Returns:
        None where no test failed on any of these nights.

    """
    nightlies = plans[-found.width :] if found.width else ()
    grid = night_grid((plan.id, plan.created_at) for plan in nightlies)
    known: dict[str, bytes] = {}
    for place, row in enumerate(found.rows):
        came = found.nights(place)
        if any(night in came for night in _FAILED):
            before = known.get(tests[row].id)
            # The rows of one test are never in one run together.
            known[tests[row].id] = bytes(map(max, zip(came, before, strict=True))) if before else came
    order = sorted(known, key=lambda test: (not _fails(known[test]), -_last(known[test]), test))
    if not order:
        return None
    rows = tuple(
        TestNights(test, places.of(test), _nights(known[test], nightlies, grid, pages), _note(known[test], nightlies))
        for test in order[:ROWS]
    )
    return RecentFailures(grid, rows, len(order) - len(rows))


_FAILED = (Came.FAILED, Came.FLAKY)
_LOOKS: Mapping[int, tuple[str, str | None, str]] = {
    Came.ABSENT: ("gap", "gap", "not in the run"),
    Came.PASSED: ("ok", None, "passed"),
    Came.FAILED: ("failing", "cross", "failed"),
    Came.FLAKY: ("flaky", "wave", "failed and passed when run again"),
    Came.XFAILED: ("known", "known", "failed as expected"),
    Came.XPASSED: ("known", "known", "passed against expectation"),
    Came.NOT_RUN: ("lost", "minus", "collected and not run"),
    Came.SKIPPED: ("idle", None, "skipped"),
    Came.UNSUPPORTED: ("idle", None, "unsupported"),
    Came.SILENT: ("silent", "silent", "no report"),
}


def _fails(came: bytes) -> bool:
    return came[-1] == Came.FAILED


def _last(came: bytes) -> int:
    return max(came.rfind(night) for night in _FAILED)


def _nights(came: bytes, plans: Sequence[Plan], grid: NightGrid, pages: Mapping[str, str]) -> NightsOf:
    cells = []
    failing = False
    for state, plan in zip(came, plans, strict=True):
        look, glyph, word = _LOOKS[state]
        if state == Came.FAILED and not failing:
            look, glyph, word = "new", "down", "began to fail"
        # A night that says nothing of the test ends no row of failures.
        failing = state == Came.FAILED or (failing and state in (Came.ABSENT, Came.SILENT, Came.NOT_RUN))
        words = f"{plan.created_at:%a} {short_day(plan.created_at)}: {word}"
        cells.append(Cell(grid.columns[plan.id], look, glyph, False, pages.get(plan.id), words))
    failed = many(sum(map(came.count, _FAILED)), "night")
    return NightsOf(grid.width, tuple(cells), f"failed on {failed} of the last {len(came)}")


def _note(came: bytes, plans: Sequence[Plan]) -> str:
    """Since when it fails; of one that does not, when it last did."""
    if not _fails(came):
        flakes = came.count(Came.FLAKY)
        if came[_last(came)] == Came.FLAKY:
            return many(flakes, "flake")
        return f"last failed {_day(plans[_last(came)])}"
    first = len(came) - 1
    for at in range(len(came) - 1, -1, -1):
        if came[at] == Came.FAILED:
            first = at
        elif came[at] not in (Came.ABSENT, Came.SILENT, Came.NOT_RUN):
            break
    return "tonight" if first == len(came) - 1 else f"since {_day(plans[first])}"


def _day(plan: Plan) -> str:
    return f"{plan.created_at.day} {plan.created_at:%b}"
