"""junit.xml, written from the event log, so that it holds what a dead pytest could not write itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ootci.model.event import Collected, CollectedTest, CollectError, TestEnd, read_events
from ootci.model.junit import write_report
from ootci.model.outcome import FAILURES, Attempt, Outcome, OutcomeName


def write_junit(events: Path, target: Path) -> None:
    """Write one report for all suites in an event log: a test suite each, a test case for every collected test.

    A test without an outcome is an error of the type ``not_run``; a file that could not be collected is a test, too.
    """
    collected, ends, later, broken = _from(events)
    suites: dict[str, list[Outcome]] = {}
    for test in collected.values():
        outcome = _outcome(test, ends.get(test.id), later.get(test.id, ()))
        suites.setdefault(test.suite or "unknown", []).append(outcome)
    for error in broken:
        name = error.id.partition("/")[0]
        test = CollectedTest(id=error.id, suite=name, title="The file can be collected.")
        end = TestEnd(id=error.id, outcome=OutcomeName.ERROR, message=error.message, text=error.text)
        suites.setdefault(name, []).append(_outcome(test, end))
    write_report(target, suites, {end.id: end.output for end in ends.values() if end.output})


def _from(
    events: Path,
) -> tuple[dict[str, CollectedTest], dict[str, TestEnd], dict[str, list[TestEnd]], list[CollectError]]:
    collected: dict[str, CollectedTest] = {}
    later: dict[str, list[TestEnd]] = {}
    ends: dict[str, TestEnd] = {}
    broken: dict[str, CollectError] = {}
    for event in read_events(events):
        if isinstance(event, Collected):
            for test in event.tests:
                collected.setdefault(test.id, test)
        elif isinstance(event, TestEnd) and event.attempt > 1:
            later.setdefault(event.id, []).append(event)
        elif isinstance(event, TestEnd):
            # Nobody reports a test twice but to hide something: a failure stays.
            if event.id not in ends or ends[event.id].outcome not in FAILURES:
                ends[event.id] = event
        elif isinstance(event, CollectError):
            broken[event.id] = event
    return collected, ends, later, list(broken.values())


def _outcome(test: CollectedTest, end: TestEnd | None, later: Sequence[TestEnd] = ()) -> Outcome:
    end = end or TestEnd(id=test.id, outcome=OutcomeName.NOT_RUN)
    return Outcome(
        id=test.id,
        suite=test.suite or "unknown",
        outcome=end.outcome,
        capability=test.capability,
        title=test.title,
        duration=round(end.duration, 3),
        message=end.message,
        text=end.text,
        ran=end.ran,
        attempts=tuple(Attempt(outcome=item.outcome) for item in later),
    )
