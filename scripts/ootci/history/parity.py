"""PyTorch's own tests on a device: which of them pass there. The history is the ledger, nobody keeps a list by hand.

A test *passes* on a device when it passed on three of its last five nights; from then on its failure is a regression,
however long ago it last passed. Until then its failure is not held against the device: a test that never passed is *not
yet supported*, one that passed on some night passes *sometimes*.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ootci.model.device import BadRange
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, NOT_EXECUTED, OutcomeName
from ootci.model.parity import Parity
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel

from .flakiness import tells
from .states import by_outcome, present_rows
from .stored import StoredRun

SUITE = "upstream"
"""The suite that runs PyTorch's own tests."""
NIGHTS = 5
"""The nights of a test that are looked at."""
ENOUGH = 3
"""On so many of them it has to have passed."""

_PASSED = by_outcome(dict.fromkeys(AS_THEY_SHOULD, 1), otherwise=0)
_FAILED = by_outcome(dict.fromkeys(FAILURES, 1), otherwise=0)
_ASKED = by_outcome({name: 1 for name in OutcomeName if name is not OutcomeName.SKIPPED}, otherwise=0)
_PRESENT = by_outcome(dict.fromkeys(OutcomeName, 1), otherwise=0)
_EXECUTED = by_outcome({name: 1 for name in OutcomeName if name not in NOT_EXECUTED}, otherwise=0)
_ENOUGH = bytes(passed >= ENOUGH for passed in range(256))


@dataclass
class Ledger:
    """What a device's nights up to now tell of PyTorch's own tests, a bit for each row of the table of tests.

    Numbers have a byte for each row, 1 or 0, that of row 0 being the lowest. So a night of a hundred thousand tests is
    added in milliseconds.
    """

    _settled: int = 0
    _ever: int = 0
    _lately: deque[int] = field(default_factory=lambda: deque(maxlen=NIGHTS))

    def add(self, run: StoredRun) -> None:
        """Add the night that follows; one without a test of the suite tells nothing."""
        passed, executed = _rows_in(run, _PASSED), _rows_in(run, _EXECUTED)
        if not executed:
            return
        # A test that was not executed keeps what it had: its last five nights are those on which it was.
        self._lately.append(passed)
        self._ever |= passed
        count = sum(self._lately)
        self._settled |= _number(count.to_bytes(_size(count), "little").translate(_ENOUGH))

    def night(self, run: StoredRun) -> ParityNight:
        """What the night that follows says."""
        failed, asked = _rows_in(run, _FAILED), _rows_in(run, _ASKED)
        return ParityNight(
            asked=asked.bit_count(),
            passed=_rows_in(run, _PASSED).bit_count(),
            left_out=(_rows_in(run, _PRESENT) & ~asked).bit_count(),
            regressed=_places(failed & self._settled),
            sometimes=_places(failed & self._ever & ~self._settled),
            not_yet=_places(failed & ~self._ever),
        )


@dataclass(frozen=True)
class ParityNight:
    """PyTorch's own tests on a device on one night.

    Attributes:
        asked: as of :class:`Parity`, as are the numbers ``passed`` and ``left_out``.
        regressed: rows of the failing tests that pass on the device.
        sometimes: rows of those that passed on some night.
        not_yet: rows of those that never did.

    """

    asked: int
    passed: int
    left_out: int
    regressed: array[int]
    sometimes: array[int]
    not_yet: array[int]

    @property
    def unsettled(self) -> array[int]:
        """Rows of the failing tests whose failure is not held against the device."""
        return self.sometimes + self.not_yet

    @property
    def parity(self) -> Parity:
        """The numbers."""
        return Parity(
            asked=self.asked,
            passed=self.passed,
            regressed=len(self.regressed),
            sometimes=len(self.sometimes),
            not_yet=len(self.not_yet),
            left_out=self.left_out,
        )


def parity_nights(
    nights: Iterable[tuple[Plan, StoredRun]], ranges: Iterable[BadRange]
) -> Iterator[tuple[Plan, StoredRun, ParityNight]]:
    """What each night of a device says, compared with those of its channel before.

    Args:
        nights: the run that counts of each night, oldest first.
        ranges: the device's ``bad_ranges``: nothing is learnt from these nights.

    """
    ledgers: dict[Channel, Ledger] = {}
    for plan, run in nights:
        # What stood in for the torch that was wanted is compared with nothing.
        ledger = ledgers.setdefault(run.head.channel, Ledger()) if run.head.channel is not None else Ledger()
        yield plan, run, ledger.night(run)
        if tells(ranges, plan, run):
            ledger.add(run)


def classes(run: StoredRun) -> frozenset[str]:
    """The classes, with their files, of PyTorch's tests that a run has."""
    return frozenset(run.tests[row].id.rpartition("::")[0] for row in rows_of(run))


def rows_of(run: StoredRun) -> array[int]:
    """The rows of PyTorch's own tests that a run has."""
    return _places(_rows_in(run, _PRESENT))


def _rows_in(run: StoredRun, wanted: bytes) -> int:
    return _number(run.states.translate(wanted)) & _number(run.tests.mask(frozenset((SUITE,))))


def _number(states: bytes) -> int:
    return int.from_bytes(states, "little")


def _size(number: int) -> int:
    return (number.bit_length() + 7) // 8


def _places(number: int) -> array[int]:
    return array("I", present_rows(number.to_bytes(_size(number), "little")))
