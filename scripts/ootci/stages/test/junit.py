"""junit.xml, written from the event log, so that it holds what a dead pytest could not write itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from junitparser import Error, Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite

from ootci.model.event import Collected, CollectedTest, CollectError, TestEnd, read_events
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.record import write_atomic

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow (W3C, Extensible Markup Language 1.0, production 2)."""


def write_junit(events: Path, target: Path) -> None:
    """Write one report for all suites in an event log: a test suite each, a test case for every collected test.

    The exact outcome, the test's id, capability and title, and how its work was done are properties of the test case;
    failure, error and skipped elements follow pytest's usage, so that any JUnit reader understands the report. A test
    without an outcome is an error of the type ``not_run``. A test that was run again is what it came to
    first, whatever came later: readers have no element for "failed, and then passed" that they do not take for a pass.
    Its attempts are a property.
    """
    collected, ends, later, broken = _from(events)
    report = JUnitXml(name="ootci")
    suites: dict[str, TestSuite] = {}
    for test in collected.values():
        suite = suites.setdefault(test.suite or "unknown", TestSuite(test.suite or "unknown"))
        suite.add_testcase(_case(test, ends.get(test.id), later.get(test.id, ())))
    for error in broken:
        name = error.id.partition("/")[0]
        suite = suites.setdefault(name, TestSuite(name))
        test = CollectedTest(id=error.id, suite=name, title="The file can be collected.")
        suite.add_testcase(
            _case(test, TestEnd(id=error.id, outcome=OutcomeName.ERROR, message=error.message, text=error.text))
        )
    for suite in suites.values():
        report.add_testsuite(suite)
    report.update_statistics()
    write_atomic(target, report.tostring())


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


def _case(test: CollectedTest, end: TestEnd | None, later: Sequence[TestEnd] = ()) -> TestCase:
    path, _, name = test.id.partition("::")
    case = TestCase(_xml(name or path), classname=_xml(path.removesuffix(".py").replace("/", ".")))
    outcome = end.outcome if end else OutcomeName.NOT_RUN
    case.time = end.duration if end else 0.0
    properties = Properties()
    for key, value in (
        ("id", test.id),
        ("outcome", outcome.value),
        ("capability", test.capability),
        ("title", test.title),
        ("ran", end.ran.value if end and end.ran else None),
        ("attempts", ", ".join(item.outcome.value for item in (end, *later) if item) if later else None),
    ):
        if value is not None:
            properties.add_property(Property(key, _xml(value)))
    case.append(properties)
    if result := _result(outcome, end):
        case.result = [result]
    if end and end.output:
        case.system_out = _xml(end.output)
    return case


def _result(outcome: OutcomeName, end: TestEnd | None) -> Failure | Error | Skipped | None:
    message = _xml((end.message if end else None) or outcome.value)
    if outcome in (OutcomeName.FAILED, OutcomeName.XPASSED):
        result: Failure | Error | Skipped = Failure(message, outcome.value)
    elif outcome in FAILURES or outcome is OutcomeName.NOT_RUN:
        result = Error(message, outcome.value)
    elif outcome is OutcomeName.PASSED:
        return None
    else:
        result = Skipped(message, outcome.value)
    if end and end.text:
        result.text = _xml(end.text)
    return result


def _xml(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
