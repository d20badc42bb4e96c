"""A run as the history keeps it: its head as a record, and a byte for each test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from types import MappingProxyType
from typing import NamedTuple

from ootci.model.cluster import Signature
from ootci.model.outcome import FAILURES, Counts, OutcomeName
from ootci.model.run import CapabilityCounts, Run, trivial_tests

from .states import (
    ABSENT,
    EXECUTED,
    count,
    masked,
    merged,
    number_of,
    outcome_of,
    present_rows,
    state_of,
    with_outcomes,
)
from .tables import Places, TestTable, tests_of


class Failure(NamedTuple):
    """A test that failed at first: whether it passed again, with nothing changed, and what it failed of, if known."""

    row: int
    id: str
    suite: str
    is_flaky: bool
    signature: Signature | None


@dataclass(frozen=True)
class Late:
    """When a report arrived whose night had been judged without it, and the unusable report that was there, if any."""

    at: datetime
    instead: StoredRun | None = None


@dataclass(frozen=True)
class StoredRun:
    """A run without the texts, durations and operator counts that the history keeps only for a while.

    Attributes:
        head: the run with no outcome, operator or excerpt and no counts of capabilities; those of suites are there.
        tests: every test of the history, by row.
        states: the state of each row, see ``states``.
        attempts: later attempts of tests that failed at first, by row.
        signatures: the errors of failing tests, by row; tests without a text have none.
        places: the places of the tests in the run's file.
        late: where the report was late, when it arrived and instead of what.

    """

    head: Run
    tests: TestTable = field(repr=False)
    states: bytes = field(repr=False)
    attempts: Mapping[int, tuple[OutcomeName, ...]] = field(default_factory=dict)
    signatures: Mapping[int, Signature] = field(default_factory=dict)
    places: Places = field(default=Places(()), repr=False, compare=False)
    late: Late | None = field(default=None, compare=False)

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """The tests that failed at first, by id: the order of rows is that in which runs happened to arrive."""
        found = [
            Failure(row, self.tests[row].id, self.tests[row].suite, self.is_flaky(row), self.signatures.get(row))
            for row in self.with_outcomes(FAILURES)
        ]
        return tuple(sorted(found, key=lambda item: item.id))

    @cached_property
    def executed(self) -> int:
        """A number with a byte for each row: all bits where the test was executed, else none."""
        return number_of(self.states.translate(EXECUTED))

    def is_flaky(self, row: int) -> bool:
        """Whether a test failed and then, with nothing changed, passed."""
        return row in self.attempts and self.attempts[row][-1] is OutcomeName.PASSED

    def outcome(self, row: int) -> OutcomeName | None:
        """The outcome of a test; None when it is not in the run."""
        return outcome_of(self.states[row]) if row < len(self.states) else None

    def result(self, test_id: str) -> tuple[OutcomeName | None, bool]:
        """A test's first outcome, and whether it was flaky; None when it is not in the run."""
        return self.result_in(self.tests.rows_of_id(test_id))

    def result_in(self, rows: Iterable[int]) -> tuple[OutcomeName | None, bool]:
        """The result of the test that has these rows."""
        for row in rows:
            if row < len(self.states) and self.states[row]:
                return outcome_of(self.states[row]), row in self.attempts and self.is_flaky(row)
        return None, False

    def rows(self) -> list[int]:
        """Rows of all tests of the run."""
        return present_rows(self.states)

    def ids(self, rows: Iterable[int]) -> Iterator[str]:
        """The ids of rows."""
        return map(attrgetter("id"), map(self.tests.tests.__getitem__, rows))

    def with_outcomes(self, outcomes: Iterable[OutcomeName]) -> list[int]:
        """Rows of the tests with one of the outcomes."""
        return with_outcomes(self.states, outcomes)

    def counts(self, suites: Iterable[str] | None = None) -> Counts:
        """Tests by outcome, of all suites or of some."""
        wanted = None if suites is None else frozenset(suites)
        states = self.states if wanted is None else masked(self.states, self.tests.mask(wanted))
        flaky = sum(self.is_flaky(row) and (wanted is None or self.tests[row].suite in wanted) for row in self.attempts)
        return _counts(count(states), flaky)

    @cached_property
    def capabilities(self) -> tuple[CapabilityCounts, ...]:
        """Tests by capability and outcome, by the capability's id."""
        states = self.states.ljust(len(self.tests), bytes((ABSENT,)))
        found = {name: count(chosen) for name, chosen in self.tests.states_by_capability(states)}
        flaky = Counter(
            self.tests[row].capability for row in self.attempts if self.outcome(row) in FAILURES and self.is_flaky(row)
        )
        trivial = Counter(
            self.tests[row].capability
            for test_id in trivial_tests()
            for row in self.tests.rows_of_id(test_id)
            if self.outcome(row) is OutcomeName.PASSED
        )
        return tuple(
            CapabilityCounts(capability=name, counts=_counts(numbers, flaky[name]), trivial=trivial[name])
            for name, numbers in found.items()
            if numbers
        )

    def of_suites(self, suites: Iterable[str]) -> StoredRun:
        """The run with the tests of some suites only."""
        wanted = frozenset(suites)
        return replace(
            self,
            states=masked(self.states, self.tests.mask(wanted)),
            attempts={row: later for row, later in self.attempts.items() if self.tests[row].suite in wanted},
            signatures={row: found for row, found in self.signatures.items() if self.tests[row].suite in wanted},
        )

    def without(self, rows: Sequence[int]) -> StoredRun:
        """The run without the tests of some rows."""
        if not rows:
            return self
        gone = frozenset(rows)
        states = bytearray(self.states)
        for row in rows:
            states[row] = ABSENT
        return replace(
            self,
            states=bytes(states),
            attempts={row: later for row, later in self.attempts.items() if row not in gone},
            signatures={row: found for row, found in self.signatures.items() if row not in gone},
        )

    def with_tests_of(self, other: StoredRun) -> StoredRun:
        """The run with the tests of another one besides, which has none of the same suite."""
        return replace(
            self,
            states=merged(self.states, other.states),
            attempts={**self.attempts, **other.attempts},
            signatures={**self.signatures, **other.signatures},
        )


def _counts(numbers: Mapping[OutcomeName, int], flaky: int) -> Counts:
    return Counts(**{outcome.value: number for outcome, number in numbers.items()}, flaky=flaky)


def stored(
    run: Run, tests: TestTable | None = None, signatures: Mapping[str, Signature] = MappingProxyType({})
) -> StoredRun:
    """A run that is not in the history, in the form in which the history's runs are compared.

    Args:
        tests: the table of tests, in which the run's tests get rows; one of its own when absent.
        signatures: what failing tests failed of, by id.

    """
    tests = TestTable() if tests is None else tests
    rows = tests.rows_of(tests_of(run.outcomes))
    states = bytearray(len(tests))
    attempts: dict[int, tuple[OutcomeName, ...]] = {}
    for row, item in zip(rows, run.outcomes, strict=True):
        states[row] = state_of(item.outcome, item.ran)
        if item.attempts:
            attempts[row] = tuple(attempt.outcome for attempt in item.attempts)
    named = {row: signatures[item.id] for row, item in zip(rows, run.outcomes, strict=True) if item.id in signatures}
    return StoredRun(head_of(run), tests, bytes(states), attempts, named, Places.of(rows))


def head_of(run: Run) -> Run:
    """The run without what is kept apart or follows from the outcomes."""
    stages = tuple(stage.model_copy(update={"excerpt": None}) for stage in run.stages)
    head = run.model_copy(update={"outcomes": (), "capabilities": (), "operators": (), "stages": stages})
    # Times are kept to the millisecond, as in run.json.
    return Run.model_validate_json(head.to_json())
