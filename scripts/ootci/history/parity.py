"""PyTorch's own tests on a device: which of them pass there. The history is the ledger, nobody keeps a list by hand.

A test *passes* on a device when it passed on three of its last five nights; from then on its failure is a regression,
however long ago it last passed. Until then its failure does not count against it: a test that never passed is *not
yet supported*, one that passed on some night passes *sometimes*.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ootci.model.device import UPSTREAM, BadRange
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, OutcomeName
from ootci.model.plan import Plan
from ootci.model.record import Record
from ootci.model.torch_build import Channel

from .flakiness import tells
from .states import EXECUTED, by_outcome, bytes_of, number_of, rows_in
from .stored import StoredRun
from .tables import Test


class Parity(Record):
    """PyTorch's own tests on a device, of one night. ``passed`` and the tests that fail are parts of ``asked``."""

    asked: int
    """Tests that were collected and that PyTorch itself does not leave out on this device."""
    passed: int
    """Passed, or failed as PyTorch expects."""
    regressed: int
    """Fail, and passed on three of five nights at some time."""
    sometimes: int
    """Fail, and passed on some night."""
    not_yet: int
    """Fail, and never passed: not yet supported."""
    left_out: int
    """Left out by PyTorch itself on this device, and not in `asked`."""

    @property
    def others(self) -> int:
        """Tests that neither passed nor failed: they are unsupported, did not run or passed against expectation."""
        return self.asked - self.passed - self.regressed - self.sometimes - self.not_yet

    @property
    def share(self) -> str:
        """Which part of them passed, rounded down: ``61.2 %``; 100 % only for all of them."""
        tenths = 1000 * self.passed // self.asked if self.asked else 0
        return f"{tenths // 10}.{tenths % 10} %" if tenths < 1000 else "100 %"


NIGHTS = 5
"""The nights of a test that are looked at: those on which it was executed."""
ENOUGH = 3
"""On so many of them it has to have passed."""

_PASSED = by_outcome(dict.fromkeys(AS_THEY_SHOULD, 1), otherwise=0)
_FAILED = by_outcome(dict.fromkeys(FAILURES, 1), otherwise=0)
_ASKED = by_outcome({name: 1 for name in OutcomeName if name is not OutcomeName.SKIPPED}, otherwise=0)
_PRESENT = by_outcome(dict.fromkeys(OutcomeName, 1), otherwise=0)
_NEXT = bytes(night << 1 & (1 << NIGHTS) - 1 for night in range(256))
_ENOUGH = bytes(nights.bit_count() >= ENOUGH for nights in range(256))


@dataclass
class Ledger:
    """The record of PyTorch's own tests on a device, up to now.

    Each number has a byte for each row of the table of tests, that of row 0 being the lowest. So a night of a hundred
    thousand tests is added in milliseconds.
    """

    _settled: int = 0
    """1 where the test passes on the device."""
    _ever: int = 0
    """1 where it ever passed."""
    _lately: int = 0
    """A bit for each of its last nights, the newest the lowest, set where it passed."""

    def add(self, run: StoredRun) -> None:
        """Add the night that follows; one without a test of the suite tells nothing."""
        passed, executed = _rows_in(run, _PASSED), _rows_in(run, EXECUTED)
        if not executed:
            return
        # The last nights of a test are those on which it was executed.
        self._lately = (_each(self._lately, _NEXT) | passed) & executed | self._lately & ~executed
        self._ever |= passed
        self._settled |= _each(self._lately, _ENOUGH)

    def night(self, run: StoredRun) -> ParityNight:
        """The counts of the night that follows."""
        failed, asked = _rows_in(run, _FAILED), _rows_in(run, _ASKED)
        regressed = _places(failed & self._settled)
        sometimes = _places(failed & self._ever & ~self._settled)
        not_yet = _places(failed & ~self._ever)
        parity = Parity(
            asked=asked.bit_count(),
            passed=_rows_in(run, _PASSED).bit_count(),
            regressed=len(regressed),
            sometimes=len(sometimes),
            not_yet=len(not_yet),
            left_out=(_rows_in(run, _PRESENT) & ~asked).bit_count(),
        )
        return ParityNight(parity, regressed, sometimes, not_yet)


@dataclass(frozen=True)
class ParityNight:
    """PyTorch's own tests on a device on one night.

    Attributes:
        regressed: rows of the failing tests that pass on the device.
        sometimes: rows of those that passed on some night.
        not_yet: rows of those that never did.

    """

    parity: Parity
    regressed: array[int]
    sometimes: array[int]
    not_yet: array[int]

    @property
    def unsettled(self) -> array[int]:
        """Rows of the failing tests whose failure is not counted against the device."""
        return self.sometimes + self.not_yet


def parity_nights(
    nights: Iterable[tuple[Plan, StoredRun]], ranges: Sequence[BadRange]
) -> Iterator[tuple[Plan, StoredRun, ParityNight]]:
    """The counts of each night of a device, oldest first, compared with those of its channel before.

    Nothing is learnt from nights in the device's ``bad_ranges``.
    """
    ledgers: dict[Channel, Ledger] = {}
    for plan, run in nights:
        # A torch that replaced the requested one is compared with nothing.
        ledger = ledgers.setdefault(run.head.channel, Ledger()) if run.head.channel is not None else Ledger()
        yield plan, run, ledger.night(run)
        if tells(ranges, plan, run):
            ledger.add(run)


def classes_run(run: StoredRun) -> frozenset[str]:
    """The classes of PyTorch's tests, with their files, of which a run executed a test."""
    return frozenset(filter(None, (class_of(run.tests[row]) for row in _places(_rows_in(run, EXECUTED)))))


def class_of(test: Test) -> str | None:
    """The class of one of PyTorch's tests, with its file; None for any other test."""
    return test.id.rpartition("::")[0] if test.suite == UPSTREAM else None


def rows_of(run: StoredRun) -> array[int]:
    """The rows of PyTorch's own tests that a run has."""
    return _places(_rows_in(run, _PRESENT))


def _rows_in(run: StoredRun, wanted: bytes) -> int:
    mask = run.tests.mask(frozenset((UPSTREAM,)))
    return number_of(run.states.translate(wanted)) & mask if mask else 0


def _each(number: int, table: bytes) -> int:
    """The number whose every byte is what the table makes of it."""
    return number_of(bytes_of(number).translate(table))


def _places(number: int) -> array[int]:
    return array("I", rows_in(number))
