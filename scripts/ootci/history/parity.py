"""PyTorch's own tests on a device: which of them pass there. The history is the ledger, nobody keeps a list by hand.

A test *passes* on a device when it passed on three of its last five nights; from then on its failure is a regression,
however long ago it last passed. Until then its failure is not held against the device: a test that never passed is *not
yet supported*, one that passed on some night passes *sometimes*.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, NOT_EXECUTED, OutcomeName
from ootci.model.parity import Parity

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

    def unsettled(self, run: StoredRun) -> frozenset[int]:
        """Rows of the failing tests of the night that follows whose failure is not held against the device."""
        return frozenset(_places(_rows_in(run, _FAILED) & ~self._settled))

    def parity(self, run: StoredRun) -> Parity:
        """The numbers of the night that follows."""
        failed = _rows_in(run, _FAILED)
        return Parity(
            asked=_rows_in(run, _ASKED).bit_count(),
            passed=_rows_in(run, _PASSED).bit_count(),
            regressed=(failed & self._settled).bit_count(),
            sometimes=(failed & self._ever & ~self._settled).bit_count(),
            not_yet=(failed & ~self._ever).bit_count(),
            left_out=(_rows_in(run, _PRESENT) & ~_rows_in(run, _ASKED)).bit_count(),
        )


def ledgers(runs: Iterable[StoredRun]) -> Iterator[tuple[StoredRun, Ledger]]:
    """Each run of one channel, oldest first, with the ledger of those before it; the ledger is one and grows."""
    ledger = Ledger()
    for run in runs:
        yield run, ledger
        ledger.add(run)


def classes(run: StoredRun) -> frozenset[str]:
    """The classes, with their files, of PyTorch's tests that a run has."""
    return frozenset(run.tests[row].id.rpartition("::")[0] for row in _places(_rows_in(run, _PRESENT)))


def rows_by_file(run: StoredRun) -> dict[str, list[int]]:
    """The rows of PyTorch's tests that a run has, by PyTorch's file, in the files' order."""
    found: dict[str, list[int]] = {}
    for row in _places(_rows_in(run, _PRESENT)):
        found.setdefault(run.tests[row].id.partition("::")[0].removeprefix(f"{SUITE}/"), []).append(row)
    return dict(sorted(found.items()))


def _rows_in(run: StoredRun, wanted: bytes) -> int:
    return _number(run.states.translate(wanted)) & _number(run.tests.mask(frozenset((SUITE,))))


def _number(states: bytes) -> int:
    return int.from_bytes(states, "little")


def _size(number: int) -> int:
    return (number.bit_length() + 7) // 8


def _places(number: int) -> list[int]:
    return present_rows(number.to_bytes(_size(number), "little"))
