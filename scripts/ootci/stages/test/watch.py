"""The state of a pytest process, read from its event log while it runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ootci.model.event import (
    Collected,
    CollectedTest,
    CollectError,
    Dealt,
    Event,
    ImportStart,
    SessionEnd,
    Tail,
    TestEnd,
    TestStart,
    parse_event,
)
from ootci.model.outcome import OutcomeName, may_replace


@dataclass
class Watch:
    """Follows one event log across the pytest processes of one suite.

    Attributes:
        tail: the log from where this suite's part begins.
        collected: the tests of the first collection, by id, in order.
        ended: the outcomes so far, by id.
        current: the test that is running now, if any.
        current_since: monotonic time at which it, or the import of a file, was seen to begin.
        last_told: monotonic time at which the last event was seen.
        importing: the test id for the import of a file that is in progress.
        has_listed: whether the process has reported its tests.
        exit_status: pytest's own exit status once its process ended in an orderly way.
        collect_errors: files that could not be collected, with the first line of the reason.
        in_process: the tests that the present process has begun, in order.
        dealt: the workers that import each file of PyTorch's own tests.
        attempt: only this attempt of a test is followed.
        copied_to: another log to which every line is copied.

    """

    tail: Tail
    attempt: int = 1
    copied_to: Path | None = None
    collected: dict[str, CollectedTest] = field(default_factory=dict)
    ended: dict[str, OutcomeName] = field(default_factory=dict)
    current: str | None = None
    current_since: float = 0.0
    last_told: float = 0.0
    importing: str | None = None
    has_listed: bool = False
    exit_status: int | None = None
    collect_errors: dict[str, str] = field(default_factory=dict)
    in_process: list[str] = field(default_factory=list)
    dealt: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def new_process(self) -> None:
        """Reset the state of one process."""
        self.current = None
        self.exit_status = None
        self.importing = None
        self.has_listed = False
        self.in_process = []
        self.last_told = time.monotonic()

    def read(self) -> None:
        """Read the events appended since the last call."""
        lines = list(self.tail.lines())
        if self.copied_to is not None and lines:
            with self.copied_to.open("ab") as stream:
                stream.writelines(lines)
        for line in lines:
            if (event := parse_event(line)) is not None:
                self._take(event)

    def remaining(self) -> list[str]:
        """Collected tests that have no outcome yet, in order."""
        return [test_id for test_id in self.collected if test_id not in self.ended]

    def _take(self, event: Event) -> None:
        self.last_told = time.monotonic()
        if isinstance(event, Collected):
            self.importing, self.has_listed = None, True
            for test in event.tests:
                self.collected.setdefault(test.id, test)
        elif isinstance(event, Dealt):
            self.dealt = event.files
        elif isinstance(event, ImportStart):
            self.importing, self.current_since = event.id, self.last_told
        elif isinstance(event, TestStart) and event.attempt == self.attempt:
            self.current, self.current_since = event.id, self.last_told
            self.in_process.append(event.id)
        elif isinstance(event, TestEnd) and event.attempt == self.attempt:
            if may_replace(self.ended.get(event.id)):
                self.ended[event.id] = event.outcome
            self.current = None
        elif isinstance(event, CollectError):
            self.collect_errors[event.id] = event.message or "no reason given"
        elif isinstance(event, SessionEnd):
            self.exit_status = event.exit_status
