"""JUnit XML that we hand out: junit.xml of a test stage and report.xml of a run, written through junitparser.

What is written is what the reporters on GitHub look at: mikepenz/action-junit-report (``file`` of a case, ``message``),
EnricoMi/publish-unit-test-result-action (the sums of a suite, ``file``) and dorny/test-reporter (``name``,
``classname`` and ``time`` of every suite and case). What only we know is a property, which they pass over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from junitparser import Attr, Error, Failure, JUnitXml, Properties, Property, Skipped, TestCase, TestSuite

from ootci.model.outcome import FAILURES, Outcome, OutcomeName
from ootci.model.record import write_atomic

SUITES_FOLDER = "tests/device"
"""Where the suites lie in this repository, whose files a reporter can link."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow (W3C, Extensible Markup Language 1.0, production 2)."""


class ReportedCase(TestCase):
    """A test case with the file that reporters show."""

    file = Attr()


def junit_case(outcome: Outcome, output: str | None = None) -> TestCase:
    """A test as a test case.

    The exact outcome, the test's id, capability and title, and how its work was done are properties of the test case;
    failure, error and skipped elements follow pytest's usage, so that any JUnit reader understands the report. A test
    without an outcome is an error of the type ``not_run``. A test that was run again is what it came to first,
    whatever came later: readers have no element for "failed, and then passed" that they do not take for a pass. Its
    attempts are a property.
    """
    path, _, name = outcome.id.partition("::")
    reported = ReportedCase(
        xml_text(name or path) or "unnamed", classname=xml_text(path.removesuffix(".py").replace("/", ".")) or "unnamed"
    )
    if path.endswith(".py"):
        reported.file = xml_text(f"{SUITES_FOLDER}/{path}")
    case: TestCase = reported
    case.time = outcome.duration
    attempts = [outcome.outcome, *(attempt.outcome for attempt in outcome.attempts)]
    properties = Properties()
    for key, value in (
        ("id", outcome.id),
        ("outcome", outcome.outcome.value),
        ("capability", outcome.capability),
        ("title", outcome.title),
        ("ran", outcome.ran.value if outcome.ran else None),
        ("attempts", ", ".join(name.value for name in attempts) if outcome.attempts else None),
    ):
        if value is not None:
            properties.add_property(Property(key, xml_text(value)))
    case.append(properties)
    if result := _result(outcome):
        case.result = [result]
    if output:
        case.system_out = xml_text(output)
    return case


def write_report(target: Path, suites: Mapping[str, Iterable[TestCase]]) -> None:
    """Write one report: a test suite for each, by name, with its sums."""
    report = JUnitXml(name="ootci")
    for name, cases in suites.items():
        suite = TestSuite(xml_text(name))
        # Not add_testcase: that counts the whole suite again for each case.
        suite.extend(cases)
        report.add_testsuite(suite)
    report.update_statistics()
    write_atomic(target, report.tostring())


def _result(outcome: Outcome) -> Failure | Error | Skipped | None:
    name = outcome.outcome
    if name is OutcomeName.PASSED:
        return None
    message = xml_text(outcome.message or name.value)
    if name in (OutcomeName.FAILED, OutcomeName.XPASSED):
        result: Failure | Error | Skipped = Failure(message, name.value)
    elif name in FAILURES or name is OutcomeName.NOT_RUN:
        result = Error(message, name.value)
    else:
        result = Skipped(message, name.value)
    if outcome.text:
        result.text = xml_text(outcome.text)
    return result


def xml_text(text: str) -> str:
    """A text without the characters that no XML may hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
