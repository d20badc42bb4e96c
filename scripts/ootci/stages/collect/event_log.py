"""The event log, read once: the results of every stage and every test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from sys import intern

from ootci.model.accuracy import Accuracy
from ootci.model.build import StageResult, StageStatus
from ootci.model.event import (
    Collected,
    CollectedTest,
    CollectError,
    Declarations,
    DeclarationTried,
    Operators,
    OperatorUse,
    Reported,
    Sharded,
    StageEnd,
    StageStart,
    TestEnd,
    read_events,
)
from ootci.model.excerpt import MAX_MESSAGE, allowed, excerpt, one_line, short_id
from ootci.model.outcome import Attempt, Outcome, OutcomeName, may_replace
from ootci.model.run import OperatorCount, PassingDeclaration
from ootci.model.training import Training

MAX_NAME = 100
MAX_REASON = 500
MAX_EXCERPT = 8_000
MAX_TESTS = 250_000
"""The most tests of which run.json can still be read; further tests are left out."""
MAX_TESTS_AGAIN = 1_000
MAX_ATTEMPTS = 5
MAX_OPERATORS = 20_000
MAX_DECLARATIONS = 20_000
MAX_PASSING = 500
"""Passing declarations that run.json has."""
MAX_OUTPUT = 16 * 1024 * 1024
"""Characters that the outputs of all tests have together."""
MAX_NAMES = 24 * 1024 * 1024
"""Characters that the ids of all tests have together; tests after them are left out."""
MAX_TEXTS = 32 * 1024 * 1024
"""Characters that titles, messages and texts of all tests have together; then a test has a short message only. With
these, a run of as many tests as there may be, all of them failing, is not too large to be read."""
SHORT_MESSAGE = 80


@dataclass
class EventLog:
    """The event log of one device run. Vendor code could write to it, so nothing in it is trusted or unbounded.

    Attributes:
        started: when each stage began.
        ended: how each stage ended.
        tests: the outcome of each test that was collected, by id, those of other shares included: `not_run` until it is
            reported; of several reports of one test a failure stays.
        broken: files that could not be collected, as tests, by id.
        operators: how often each operator ran.
        declarations: the outcome of the declarations of the suite `upstream`; None where they were not tried.
        attempts: later attempts of tests, by id.
        facts: versions of driver, firmware, runtime and SDK that the check command printed.
        reports: states of the suites' reports, where the tests do not show them.
        outputs: what tests printed, by id.
        is_full: whether more tests were told of than are kept.
        room: characters of outputs for which there is room yet.
        names: characters of ids for which there is room yet.
        texts: characters of titles, messages and texts for which there is room yet.
        never_began: why a stage did not run that never began.

    """

    started: dict[str, datetime | None] = field(default_factory=dict)
    ended: dict[str, StageEnd] = field(default_factory=dict)
    tests: dict[str, Outcome] = field(default_factory=dict)
    broken: dict[str, Outcome] = field(default_factory=dict)
    operators: dict[str, OperatorUse] = field(default_factory=dict)
    declarations: dict[str, DeclarationTried] | None = None
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    reports: dict[str, Reported] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    is_full: bool = False
    room: int = field(default_factory=lambda: MAX_OUTPUT)
    names: int = field(default_factory=lambda: MAX_NAMES)
    texts: int = field(default_factory=lambda: MAX_TEXTS)
    never_began: str = "a stage before it did not pass"

    def add(self, path: Path) -> EventLog:
        """Add the log of a run, or of one of its shares; a missing log is empty."""
        for event in read_events(path):
            if isinstance(event, StageStart):
                self.started[event.stage] = event.time
            elif isinstance(event, StageEnd):
                self.ended[event.stage] = event
                self.facts.update(event.facts)
            elif isinstance(event, TestEnd) and event.attempt > 1:
                self._add_attempt(event)
            elif isinstance(event, TestEnd):
                self._add_end(event)
            elif isinstance(event, (Collected, Sharded)):
                for test in event.tests:
                    self._add_test(test)
            elif isinstance(event, CollectError):
                self._add_broken(event)
            elif isinstance(event, Reported):
                self.reports[event.suite] = event
            elif isinstance(event, Operators):
                self._add_operators(event.counts)
            elif isinstance(event, Declarations):
                self._add_declarations(event.tried)
        return self

    def _add_declarations(self, tried: Mapping[str, DeclarationTried]) -> None:
        self.declarations = {} if self.declarations is None else self.declarations
        for name, counts in tried.items():
            before = self.declarations.get(name, DeclarationTried())
            if name in self.declarations or len(self.declarations) < MAX_DECLARATIONS:
                self.declarations[name] = DeclarationTried(
                    passed=before.passed + counts.passed, seen=before.seen + counts.seen
                )

    def _add_operators(self, counts: Mapping[str, OperatorUse]) -> None:
        for name, use in counts.items():
            before = self.operators.get(name, OperatorUse())
            if name in self.operators or len(self.operators) < MAX_OPERATORS:
                self.operators[name] = OperatorUse(
                    native=before.native + use.native, fallback=before.fallback + use.fallback
                )

    def _add_test(self, test: CollectedTest) -> None:
        test_id = test_id_of(test.id)
        if test_id in self.tests:
            return
        self.names -= len(test_id)
        if self.names < 0 or len(self.tests) == MAX_TESTS:
            self.is_full = True
            return
        item = _silent(test_id, test)
        self.texts -= len(item.title or "")
        self.tests[test_id] = item if self.texts >= 0 else item.model_copy(update={"title": None})

    def within_room(self, item: Outcome) -> Outcome:
        """An outcome, with its texts up to a limit on their size."""
        if not item.message and not item.text:
            return item
        self.texts -= len(item.message or "") + len(item.text or "")
        if self.texts >= 0:
            return item
        return item.model_copy(update={"message": (item.message or "")[:SHORT_MESSAGE] or None, "text": None})

    def _add_end(self, event: TestEnd) -> None:
        test_id = test_id_of(event.id)
        test = self.tests.get(test_id)
        if test is None or not may_replace(test.outcome):
            return
        self.tests[test_id] = self.within_room(_ended(test, event))
        self.room -= len(event.output or "")
        if event.output and self.room >= 0:
            self.outputs[test_id] = event.output

    def _add_broken(self, event: CollectError) -> None:
        test_id = test_id_of(event.id)
        test = CollectedTest(id=event.id, suite=event.id.partition("/")[0], title="The file can be collected.")
        end = TestEnd(id=event.id, outcome=OutcomeName.ERROR, message=event.message, text=event.text)
        if len(self.broken) < MAX_TESTS:
            self.broken[test_id] = self.within_room(_ended(_silent(test_id, test), end))

    def _add_attempt(self, event: TestEnd) -> None:
        test_id = test_id_of(event.id)
        if test_id not in self.attempts and len(self.attempts) >= MAX_TESTS_AGAIN:
            return
        attempts = self.attempts.setdefault(test_id, [])
        self.texts -= len(event.text or "")
        if len(attempts) < MAX_ATTEMPTS:
            attempts.append(
                Attempt(
                    outcome=event.outcome,
                    duration=round(event.duration, 3),
                    message=event.message[:MAX_REASON] if event.message else None,
                    text=excerpt(event.text, MAX_EXCERPT) if self.texts >= 0 else None,
                )
            )

    def outcomes(self) -> tuple[Outcome, ...]:
        """Every test that was collected, suite by suite, and what could not be collected as tests that failed."""
        suites: dict[str, list[Outcome]] = {}
        for item in self._outcomes():
            suites.setdefault(item.suite, []).append(item)
        return tuple(item for items in suites.values() for item in items)

    def _outcomes(self) -> Iterator[Outcome]:
        for test_id, item in self.tests.items():
            if item.is_failure and test_id in self.attempts:
                yield item.model_copy(update={"attempts": tuple(self.attempts[test_id])})
            else:
                yield item
        yield from (item for test_id, item in self.broken.items() if test_id not in self.tests)

    def stage(self, name: str) -> StageResult:
        """The result of a stage; a stage that began and has no end crashed."""
        if name not in self.started:
            return StageResult(name=name, status=StageStatus.NOT_RUN, reason=self.never_began)
        end = self.ended.get(name)
        if end is None:
            reason = "the job ended while this stage was running"
            return StageResult(name=name, status=StageStatus.CRASHED, started_at=self.started[name], reason=reason)
        capped = {
            "reason": end.reason[:MAX_REASON] if end.reason else None,
            "excerpt": excerpt(end.excerpt, MAX_EXCERPT),
        }
        return end.model_copy(update=capped).result(self.started[name])

    def passing_declarations(self) -> tuple[PassingDeclaration, ...] | None:
        """The declarations of which every test passed, by name; None where they were not tried."""
        if self.declarations is None:
            return None
        passing = (
            (name, item.seen) for name, item in sorted(self.declarations.items()) if item.passed == item.seen > 0
        )
        found = [PassingDeclaration(declaration=test_id_of(name), tests=tests) for name, tests in passing]
        return tuple(found[:MAX_PASSING])

    def operator_counts(self) -> tuple[OperatorCount, ...]:
        """How often each operator ran, by name."""
        return tuple(
            OperatorCount(operator=name[:200], native=use.native, fallback=use.fallback)
            for name, use in sorted(self.operators.items())
        )


def test_id_of(text: str) -> str:
    """The id under which a test is kept."""
    return short_id(allowed(text))


def _silent(test_id: str, test: CollectedTest) -> Outcome:
    return Outcome(
        id=test_id,
        suite=_shared(test.suite, MAX_NAME) or "unknown",
        outcome=OutcomeName.NOT_RUN,
        capability=_shared(test.capability, MAX_NAME),
        title=_shared(test.title, MAX_MESSAGE),
        message="collected, but never reported",
    )


def _ended(test: Outcome, end: TestEnd) -> Outcome:
    """A test's outcome with capped texts; a test that passed has none."""
    passed = end.outcome is OutcomeName.PASSED
    return Outcome(
        test.id,
        test.suite,
        end.outcome,
        test.capability,
        test.title,
        round(end.duration, 3),
        None if passed else one_line(end.message) or end.outcome.value,
        None if passed else excerpt(end.text) or excerpt(end.output),
        end.ran,
        accuracy=end.measured if isinstance(end.measured, Accuracy) else None,
        training=end.measured if isinstance(end.measured, Training) else None,
    )


def _shared(text: str | None, limit: int) -> str | None:
    """A text that many tests have, held once."""
    return intern(allowed(text)[:limit]) or None if text else None
