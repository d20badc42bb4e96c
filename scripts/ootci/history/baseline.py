"""Which tests a device is expected to run, and which of them it no longer runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ootci.model.outcome import NOT_EXECUTED, OutcomeName
from ootci.model.run import ReportState

from .states import by_outcome, present_rows
from .stored import StoredRun

_EXECUTED = by_outcome({name: 255 for name in OutcomeName if name not in NOT_EXECUTED}, otherwise=0)


@dataclass(frozen=True)
class Baseline:
    """The tests that a device ran on earlier nights and is expected to run still.

    Attributes:
        rows: a number with a byte for each row of the table of tests, that of row 0 being the lowest: all bits where
            the test is expected, else none. So a year of nights is compared in well under a second.

    """

    rows: int = 0

    def lost(self, run: StoredRun) -> tuple[int, ...]:
        """The rows of the expected tests that did not run, of the suites that were reported completely."""
        missing = self.rows & _of_suites(run, complete_suites(run)) & ~_executed(run)
        return tuple(row for row in _rows(missing) if not _has_another_row(run, row)) if missing else ()

    def size(self, run: StoredRun, suite: str) -> int:
        """How many tests of a suite are expected."""
        return (self.rows & _of_suites(run, frozenset((suite,)))).bit_count() // 8

    def after(self, run: StoredRun, accepted: Collection[int]) -> Baseline:
        """What is expected of the next night.

        Args:
            run: what was reported, as it was planned: of a suite that is no longer planned nothing is expected.
            accepted: rows of the lost tests whose loss is accepted.

        """
        complete, ran = _of_suites(run, complete_suites(run)), _executed(run)
        kept = self.rows & _of_suites(run, frozenset(report.suite for report in run.head.suites))
        missing = kept & complete & ~ran
        for row in _rows(missing) if missing else ():
            # A test whose title or capability changed has a new row, and is expected there.
            if row in accepted or _has_another_row(run, row):
                kept &= ~(255 << 8 * row)
        return Baseline(kept | (ran & complete))


def complete_suites(run: StoredRun) -> frozenset[str]:
    """The suites that a run reported completely."""
    return frozenset(report.suite for report in run.head.suites if report.state is ReportState.COMPLETE)


def was_executed(run: StoredRun, test_id: str) -> bool:
    """Whether a test of a run was executed."""
    outcome, _ = run.result(test_id)
    return outcome is not None and outcome not in NOT_EXECUTED


def _executed(run: StoredRun) -> int:
    return int.from_bytes(run.states.translate(_EXECUTED), "little")


def _of_suites(run: StoredRun, suites: frozenset[str]) -> int:
    return int.from_bytes(run.tests.mask(suites), "little")


def _rows(number: int) -> list[int]:
    return present_rows(number.to_bytes((number.bit_length() + 7) // 8, "little"))


def _has_another_row(run: StoredRun, row: int) -> bool:
    """Whether a test was executed under another row, because its title or capability changed."""
    return was_executed(run, run.tests[row].id)
