"""What the event log says, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ootci.model.build import StageName, StageResult, StageStatus
from ootci.model.event import (
    Collected,
    CollectedTest,
    Operators,
    OperatorUse,
    Sharded,
    StageEnd,
    StageStart,
    TestEnd,
    read_events,
)
from ootci.model.outcome import Attempt
from ootci.model.run import OperatorCount

from .excerpt import excerpt

MAX_REASON = 500
MAX_EXCERPT = 8_000
MAX_TESTS_AGAIN = 1_000
MAX_ATTEMPTS = 5
MAX_OPERATORS = 20_000


@dataclass
class EventLog:
    """The event log of one device run. Vendor code could write to it, so nothing in it is trusted or unbounded.

    Attributes:
        started: when each stage began.
        ended: how each stage ended.
        collected: tests that pytest collected, by id, those of other shares included.
        ends: what came of the tests of the suite during which the job was ended, so that nobody wrote its report.
        operators: how often each operator ran.
        attempts: later attempts of tests, by id.
        facts: what the check command said of what is below the plugin.

    """

    started: dict[StageName, datetime | None] = field(default_factory=dict)
    ended: dict[StageName, StageEnd] = field(default_factory=dict)
    collected: dict[str, CollectedTest] = field(default_factory=dict)
    ends: dict[str, TestEnd] = field(default_factory=dict)
    operators: dict[str, OperatorUse] = field(default_factory=dict)
    attempts: dict[str, list[Attempt]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> EventLog:
        """Read a log; a missing one says nothing."""
        log = cls()
        for event in read_events(path):
            if isinstance(event, StageStart):
                log.started[event.stage] = event.time
                log.ends = {}
            elif isinstance(event, StageEnd):
                log.ended[event.stage] = event
                log.facts.update(event.facts)
                log.ends = {}
            elif isinstance(event, TestEnd) and event.attempt > 1:
                log._add_attempt(event)
            elif isinstance(event, TestEnd):
                log.ends[event.id] = event
            elif isinstance(event, (Collected, Sharded)):
                for test in event.tests:
                    log.collected.setdefault(test.id, test)
            elif isinstance(event, Operators):
                log.add_operators(event.counts)
        return log

    def add_operators(self, counts: Mapping[str, OperatorUse]) -> None:
        """Add what a process, or a share of the run, counted on its own; operators beyond the limit are left out."""
        for name, use in counts.items():
            before = self.operators.get(name, OperatorUse())
            if name in self.operators or len(self.operators) < MAX_OPERATORS:
                self.operators[name] = OperatorUse(
                    native=before.native + use.native, fallback=before.fallback + use.fallback
                )

    def _add_attempt(self, event: TestEnd) -> None:
        if event.id not in self.attempts and len(self.attempts) >= MAX_TESTS_AGAIN:
            return
        attempts = self.attempts.setdefault(event.id, [])
        if len(attempts) < MAX_ATTEMPTS:
            message = event.message
            attempts.append(
                Attempt(
                    outcome=event.outcome,
                    duration=round(event.duration, 3),
                    message=message[:MAX_REASON] if message else None,
                    text=excerpt(event.text, MAX_EXCERPT),
                )
            )

    def stage(self, name: StageName) -> StageResult:
        """What came of a stage; one that began and never told of its end crashed."""
        if name not in self.started:
            return StageResult(name=name, status=StageStatus.NOT_RUN, reason="a stage before it did not pass")
        end = self.ended.get(name)
        if end is None:
            reason = "the job ended while this stage was running"
            return StageResult(name=name, status=StageStatus.CRASHED, started_at=self.started[name], reason=reason)
        return StageResult(
            name=name,
            status=end.status,
            started_at=self.started[name],
            duration=round(end.duration, 3),
            reason=end.reason[:MAX_REASON] if end.reason else None,
            excerpt=excerpt(end.excerpt, MAX_EXCERPT),
            log=end.log,
            only_tests=end.only_tests,
        )

    def operator_counts(self) -> tuple[OperatorCount, ...]:
        """How often each operator ran, by name."""
        return tuple(
            OperatorCount(operator=name[:200], native=use.native, fallback=use.fallback)
            for name, use in sorted(self.operators.items())
        )
