"""A run as the history keeps it: its head as a record, and a byte for each test."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from ootci.model.outcome import OutcomeName
from ootci.model.run import Run
from ootci.model.signature import Signature

from .states import ABSENT, failing_rows, outcome_of, present_rows, with_outcomes
from .tables import Test


@dataclass(frozen=True)
class StoredRun:
    """A run without the texts, durations and operator counts that the history keeps only for a while.

    Attributes:
        head: the run with no outcome, operator or excerpt; its counts are there.
        tests: every test of the history, by row.
        states: the state of each row, see ``states``.
        attempts: later attempts of tests that failed at first, by row.
        signatures: what failing tests failed of, by row; tests that said nothing have none.

    """

    head: Run
    tests: Sequence[Test] = field(repr=False)
    states: bytes = field(repr=False)
    attempts: Mapping[int, tuple[OutcomeName, ...]] = field(default_factory=dict)
    signatures: Mapping[int, Signature] = field(default_factory=dict)

    @cached_property
    def failing(self) -> tuple[int, ...]:
        """Rows of the tests that failed at first, in the order of the table."""
        return tuple(failing_rows(self.states))

    @cached_property
    def flaky(self) -> frozenset[int]:
        """Rows of the tests that failed and then, with nothing changed, passed."""
        return frozenset(row for row, later in self.attempts.items() if later[-1] is OutcomeName.PASSED)

    def outcome(self, row: int) -> OutcomeName | None:
        """The outcome of a test; None when it is not in the run."""
        return outcome_of(self.states[row]) if row < len(self.states) else None

    def rows(self) -> list[int]:
        """Rows of all tests of the run."""
        return present_rows(self.states)

    def with_outcomes(self, outcomes: Iterable[OutcomeName]) -> list[int]:
        """Rows of the tests that came to one of the outcomes."""
        return with_outcomes(self.states, outcomes)

    def ids(self, rows: Iterable[int]) -> Iterator[str]:
        """The ids of rows."""
        return (self.tests[row].id for row in rows)

    def of_suites(self, suites: Iterable[str]) -> StoredRun:
        """The run with the tests of some suites only."""
        wanted = set(suites)
        states = bytearray(self.states)
        for row in self.rows():
            if self.tests[row].suite not in wanted:
                states[row] = ABSENT
        return replace(self, states=bytes(states))
