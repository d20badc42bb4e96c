"""Which tests of a device were ever not passing, and the outcome of each on the newest nights.

Only this is kept in memory for a year of nights: a byte for each of the newest nights of each such test.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.plan import Plan

from .states import ABSENT_LETTER, OUTCOME_LETTERS, by_outcome, number_of, rows_in
from .stored import StoredRun
from .tables import TestTable

NIGHTS = 30
"""The newest nightlies whose single nights are kept."""


PASSED, FAILED, FLAKY = "p", "f", "a"
ABSENT = ABSENT_LETTER
"""The test was not in the run, or the device was not expected."""
SILENT = "_"
"""The device was expected and reported nothing."""
LETTERS = {name: FAILED if name in FAILURES else OUTCOME_LETTERS[name] for name in OutcomeName}
"""The letter of a test's outcome on one night, as on pages and in the API; one that passed on retry is ``FLAKY``."""
PASSES = frozenset({PASSED, FLAKY, LETTERS[OutcomeName.XFAILED]})
"""The letters that end a row of failures."""

LISTED = frozenset({*FAILURES, OutcomeName.XFAILED, OutcomeName.XPASSED, OutcomeName.NOT_RUN})
"""The outcomes that are not passing: neither passed, nor declared not to be run."""

_TO_LETTERS = by_outcome({name: ord(letter) for name, letter in LETTERS.items()}, otherwise=ord(ABSENT))
_IS_LISTED = by_outcome(dict.fromkeys(LISTED, 1), otherwise=0)


@dataclass(frozen=True)
class EverFailed:
    """The tests of one device that were ever not passing.

    Attributes:
        rows: their rows in the table of tests, ascending; of a test that has several, all.
        last: of each, the number of the newest nightly on which it was not passing, the oldest nightly being 0.
        newest: the letter of every test of the table on the newest nightly; shorter where the last tests are absent.
        width: how many of the newest nightlies are known night by night.

    """

    rows: array[int]
    last: array[int]
    newest: bytes
    width: int
    _nights: bytes

    def place(self, row: int) -> int | None:
        """The index of a test in ``rows``; None where it never was not passing."""
        place = bisect_left(self.rows, row)
        return place if place < len(self.rows) and self.rows[place] == row else None

    def nights(self, place: int) -> bytes:
        """The letter of each of the newest nightlies, oldest first."""
        return self._nights[place * self.width : (place + 1) * self.width]


def ever_failed(
    device: str,
    plans: Sequence[Plan],
    runs: Iterable[StoredRun],
    counting: Callable[[str], StoredRun | None],
    tests: TestTable,
) -> EverFailed:
    """The tests of a device's runs that ever failed.

    Args:
        plans: every nightly, oldest first.
        runs: every attempt of the device; one that was replaced by a later one is seen, too.
        counting: by nightly, the attempt that counts; only the newest are read.

    """
    last, size, newest = _last(plans, runs), len(tests), plans[-NIGHTS:]
    for row, number in list(last.items()):
        # A test that got another row has its other nights there.
        for other in tests.rows_of_id(tests[row].id):
            last[other] = max(number, last.get(other, number))
    nights = [_night(counting(plan.id), plan.expected(device) is not None, size) for plan in newest]
    joined, rows = b"".join(nights), array("I", sorted(last))
    return EverFailed(
        rows=rows,
        last=array("I", (last[row] for row in rows)),
        newest=nights[-1].rstrip(ABSENT.encode()) if nights else b"",
        width=len(newest),
        # A slice with a step takes the nights of a test out of a million bytes at once.
        _nights=b"".join(joined[row::size] for row in rows),
    )


def _last(plans: Sequence[Plan], runs: Iterable[StoredRun]) -> dict[int, int]:
    """By row of each test that was ever not passing, the number of the newest nightly on which it was not."""
    numbers = {plan.id: number for number, plan in enumerate(plans)}
    known = [(numbers[run.head.plan_id], run) for run in runs if run.head.plan_id in numbers]
    seen = 0
    last: dict[int, int] = {}
    for number, run in sorted(known, key=lambda item: -item[0]):
        states = number_of(run.states.translate(_IS_LISTED))
        last.update(dict.fromkeys(rows_in(states & ~seen), number))
        seen |= states
    return last


def _night(run: StoredRun | None, is_expected: bool, size: int) -> bytes:
    if run is None:
        return (SILENT if is_expected else ABSENT).encode() * size
    night = bytearray(run.states.translate(_TO_LETTERS).ljust(size, ABSENT.encode()))
    for row in run.attempts:
        if run.is_flaky(row):
            night[row] = ord(FLAKY)
    return bytes(night)
