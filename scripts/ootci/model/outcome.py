"""The outcome of one test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum
from operator import attrgetter
from typing import Annotated, Any

from pydantic import Field

from ootci.model.accuracy import Accuracy
from ootci.model.record import Record, Rows, compact_record
from ootci.model.training import Training


class OutcomeName(str, Enum):
    """The outcome of one test. A stage may add information to an outcome, never change it."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    UNSUPPORTED = "unsupported"
    NOT_RUN = "not_run"


MAX_ID_LENGTH = 4_096
"""Characters of a test's id; what we write ourselves is shorter still."""

FAILURES = frozenset({OutcomeName.FAILED, OutcomeName.ERROR, OutcomeName.CRASHED, OutcomeName.TIMED_OUT})
"""The outcomes that say that the device did something wrong."""

NOT_PASSED = frozenset(OutcomeName) - {OutcomeName.PASSED}
"""The outcomes of tests that a page names."""

AS_THEY_SHOULD = frozenset({OutcomeName.PASSED, OutcomeName.XFAILED})
"""The outcomes of tests that came out as they should; they end a row of failures."""

NOT_EXECUTED = frozenset({OutcomeName.SKIPPED, OutcomeName.UNSUPPORTED, OutcomeName.NOT_RUN})
"""The outcomes of tests whose body was never entered."""


def may_replace(before: OutcomeName | None) -> bool:
    """Whether a later report of the same attempt of a test counts in place of an earlier one: a failure stays.

    An honest harness reports each test once. One that reports a failure and then a pass may not hide the failure.
    """
    return before not in FAILURES


def file_of(test_id: str, suite: str) -> str:
    """The file of a test, without its suite's folder."""
    return test_id.partition("::")[0].removeprefix(f"{suite}/")


class Way(str, Enum):
    """How the work of a test was done, where the device counts that."""

    NATIVE = "native"
    FALLBACK = "fallback"


def way(said: object) -> Way | None:
    """The way that a device run reported, or None where it is not a known one."""
    return _WAYS.get(said) if isinstance(said, str) else None


_WAYS = {item.value: item for item in Way}


class Attempt(Record):
    """A later attempt of a test in the same run. Hostile until escaped, like the outcome that it belongs to."""

    outcome: OutcomeName
    """Its outcome."""
    duration: float = 0.0
    """Seconds."""
    message: str | None = None
    """One line, capped."""
    text: str | None = None
    """The failure's head and tail, capped."""


@compact_record
class Outcome:
    """One test of one run. Everything in it came from a device run and is hostile until escaped."""

    id: Annotated[str, Field(max_length=MAX_ID_LENGTH)]
    """Stable id, relative to the suites folder: ``smoke/test_x.py::test_y[param]``."""
    suite: str
    """The suite that it belongs to."""
    outcome: OutcomeName
    """Its outcome."""
    capability: str | None = None
    """The capability that it proves, a marker of the suites."""
    title: str | None = None
    """First line of the test's docstring."""
    duration: float = 0.0
    """Seconds."""
    message: str | None = None
    """First line of the failure, capped."""
    text: str | None = None
    """The failure's head and tail, capped, with a note on how much was cut."""
    ran: Way | None = None
    """`fallback` when any operator ran on the CPU during the test, else `native`; absent where nobody counted."""
    attempts: Annotated[Rows[Attempt], Field(exclude_if=lambda attempts: not attempts)] = ()
    """Later attempts in the same run, in order. The first is the outcome itself, and no later one changes it."""
    accuracy: Annotated[Accuracy | None, Field(exclude_if=lambda accuracy: accuracy is None)] = None
    """The errors of its results, where they were measured."""
    training: Annotated[Training | None, Field(exclude_if=lambda training: training is None)] = None
    """Throughput and memory of the training, where they were measured."""

    def model_copy(self, *, update: Mapping[str, Any]) -> Outcome:
        """A copy with other values, as of any record."""
        return replace(self, **update)

    @property
    def is_flaky(self) -> bool:
        """Whether it failed and then, with nothing changed, passed."""
        return self.is_failure and bool(self.attempts) and self.attempts[-1].outcome is OutcomeName.PASSED

    @property
    def is_failure(self) -> bool:
        """Whether it means that the device did something wrong."""
        return self.outcome in FAILURES


def each_once(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """The outcomes, of each test the one that counts, at the place of its first."""
    found: dict[str, Outcome] = {}
    for item in outcomes:
        before = found.get(item.id)
        if before is None or may_replace(before.outcome):
            found[item.id] = item
    return tuple(found.values())


class PassRate(Record):
    """How many of the tests that were executed passed: the one ratio that there is, never without its two numbers.

    A test that failed as expected was executed and did not pass; one that was skipped, is unsupported or did not run
    was not executed. A test that passed only on retry did not pass.
    """

    passed: int
    """The numerator."""
    executed: int
    """The denominator."""

    def __str__(self) -> str:
        return f"{self.passed} of {self.executed}"


class Counts(Record):
    """Numbers of tests by outcome. Every outcome is a field, so that a sum can be checked."""

    passed: int = 0
    """Did what they should."""
    failed: int = 0
    """Did not do what they should."""
    error: int = 0
    """Could not be set up, torn down or collected."""
    crashed: int = 0
    """Ended the process."""
    timed_out: int = 0
    """Were ended because their time was up."""
    skipped: int = 0
    """Were not run, for a reason that they gave."""
    xfailed: int = 0
    """Failed as expected."""
    xpassed: int = 0
    """Passed although expected to fail."""
    unsupported: int = 0
    """Use of what the device declares as unsupported."""
    not_run: int = 0
    """Were collected and never reported."""
    flaky: Annotated[int, Field(exclude_if=lambda count: count == 0)] = 0
    """How many of the failures passed on a retry; above they are counted by their first outcome."""

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Counts:
        """Count outcomes."""
        found = list(outcomes)
        by_outcome = Counter(map(attrgetter("outcome"), found))
        by_name = {outcome.value: number for outcome, number in by_outcome.items()}
        return cls(**by_name, flaky=sum(item.is_flaky for item in found if item.attempts))

    @property
    def total(self) -> int:
        """All tests that were collected."""
        return self.executed + self.skipped + self.unsupported + self.not_run

    @property
    def executed(self) -> int:
        """Tests whose body was really entered."""
        return self.passed + self.failures + self.xfailed + self.xpassed

    @property
    def pass_rate(self) -> PassRate:
        """How many of the executed tests passed."""
        return PassRate(passed=self.passed, executed=self.executed)

    @property
    def failures(self) -> int:
        """Tests that say that the device did something wrong."""
        return self.failed + self.error + self.crashed + self.timed_out
