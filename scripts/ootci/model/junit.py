"""JUnit XML that we hand out: junit.xml of a test stage and report.xml of a run, written case by case.

What is written is what the reporters on GitHub look at: mikepenz/action-junit-report (``file`` of a case, ``message``),
EnricoMi/publish-unit-test-result-action (the sums of a suite, ``file``) and dorny/test-reporter (``name``,
``classname`` and ``time`` of every suite and case). What only we know is a property, which they pass over.

A tree of elements for each test, as a library would build it, took most of the time and memory of ``ootci collect``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from xml.sax.saxutils import escape

from ootci.model.outcome import FAILURES, Outcome, OutcomeName
from ootci.model.record import open_atomic

SUITES_FOLDER = "tests/device"
"""Where the suites lie in this repository, whose files a reporter can link."""
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
"""Elements that say that a test did not pass."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow (W3C, Extensible Markup Language 1.0, production 2)."""
_NOT_PLAIN = re.compile('[\x00-\x1f&<>"\ud800-\udfff\ufffe\uffff]')
"""Characters of which a reader would not get back what was written."""
_IN_ATTRIBUTES = {'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#09;"}


class JunitCase(Protocol):
    """A test case that is to be written."""

    @property
    def duration(self) -> float:
        """Seconds."""

    @property
    def result(self) -> str | None:
        """The element that says that it did not pass; None where it did."""

    def xml(self) -> str:
        """The element ``testcase``."""


@dataclass(frozen=True, slots=True)
class TestCase:
    """A test as a test case.

    The exact outcome, the test's id, capability and title, and how its work was done are properties of the test case;
    failure, error and skipped elements follow pytest's usage, so that any JUnit reader understands the report. A test
    without an outcome is an error of the type ``not_run``. A test that was run again is what it came to first,
    whatever came later: readers have no element for "failed, and then passed" that they do not take for a pass. Its
    attempts are a property.

    Attributes:
        outcome: the test.
        output: what it printed.

    """

    __test__ = False
    """pytest takes it for no test of ours."""

    outcome: Outcome
    output: str | None = None

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.outcome.duration

    @property
    def result(self) -> str | None:
        """The element that says that it did not pass; None where it did."""
        return _RESULTS[self.outcome.outcome]

    def xml(self) -> str:
        """The element ``testcase``."""
        item = self.outcome
        path, _, name = item.id.partition("::")
        classname = path.removesuffix(".py").replace("/", ".") or "unnamed"
        file = f' file="{_attribute(f"{SUITES_FOLDER}/{path}")}"' if path.endswith(".py") else ""
        said = "".join([f'<property name="{key}" value="{_attribute(value)}" />' for key, value in _properties(item)])
        result = self.result
        shown = _result(result, item.message or item.outcome.value, item.outcome.value, item.text) if result else ""
        output = f"<system-out>{_content(self.output)}</system-out>" if self.output else ""
        return (
            f'<testcase name="{_attribute(name or path or "unnamed")}" classname="{_attribute(classname)}"{file} '
            f'time="{item.duration}"><properties>{said}</properties>{shown}{output}</testcase>'
        )


@dataclass(frozen=True, slots=True)
class OtherCase:
    """What went wrong besides tests, as a test case.

    Attributes:
        name: what it is about.
        classname: the class that readers show.
        duration: seconds.
        result: the element that says so.
        message: one line.
        kind: the result's type.
        text: all that is known.

    """

    name: str
    classname: str
    duration: float
    result: str
    message: str
    kind: str
    text: str | None = None

    def xml(self) -> str:
        """The element ``testcase``."""
        head = f'name="{_attribute(self.name)}" classname="{_attribute(self.classname)}" time="{self.duration}"'
        return f"<testcase {head}>{_result(self.result, self.message, self.kind, self.text)}</testcase>"


def write_report(target: Path, suites: Mapping[str, Sequence[JunitCase]]) -> None:
    """Write one report: a test suite for each, by name, with its sums."""
    shown: dict[str, list[JunitCase]] = {}
    for name, cases in suites.items():
        # Names that differ in what no XML may hold only are one.
        shown.setdefault(_attribute(name), []).extend(cases)
    sums = {name: _Sums.of(cases) for name, cases in shown.items()}
    with open_atomic(target) as stream:
        stream.write(f'<testsuites name="ootci" {_Sums.together(sums.values())}>'.encode())
        for name, cases in shown.items():
            stream.write(f'<testsuite name="{name}" {sums[name]}>'.encode())
            stream.writelines(case.xml().encode() for case in cases)
            stream.write(b"</testsuite>")
        stream.write(b"</testsuites>")


@dataclass(frozen=True)
class _Sums:
    """What stands at the head of a suite, and of the report."""

    found: Counter[str | None]
    time: float

    @classmethod
    def of(cls, cases: Sequence[JunitCase]) -> _Sums:
        return cls(Counter(case.result for case in cases), round(sum(case.duration for case in cases), 3))

    @classmethod
    def together(cls, suites: Collection[_Sums]) -> _Sums:
        return cls(sum((suite.found for suite in suites), Counter()), round(sum(suite.time for suite in suites), 3))

    def __str__(self) -> str:
        kinds = f'errors="{self.found[ERROR]}" failures="{self.found[FAILURE]}" skipped="{self.found[SKIPPED]}"'
        return f'tests="{self.found.total()}" {kinds} time="{self.time}"'


_RESULTS = {
    name: None
    if name is OutcomeName.PASSED
    else FAILURE
    if name in (OutcomeName.FAILED, OutcomeName.XPASSED)
    else ERROR
    if name in FAILURES or name is OutcomeName.NOT_RUN
    else SKIPPED
    for name in OutcomeName
}


def _properties(outcome: Outcome) -> Iterator[tuple[str, str]]:
    yield "id", outcome.id
    yield "outcome", outcome.outcome.value
    if outcome.capability is not None:
        yield "capability", outcome.capability
    if outcome.title is not None:
        yield "title", outcome.title
    if outcome.ran is not None:
        yield "ran", outcome.ran.value
    if outcome.attempts:
        yield "attempts", ", ".join([outcome.outcome.value, *(item.outcome.value for item in outcome.attempts)])


def _result(tag: str, message: str, kind: str, text: str | None) -> str:
    head = f'<{tag} message="{_attribute(message)}" type="{kind}"'
    return f"{head}>{_content(text)}</{tag}>" if text else f"{head} />"


def _attribute(text: str) -> str:
    return text if _NOT_PLAIN.search(text) is None else escape(_allowed(text), _IN_ATTRIBUTES)


def _content(text: str) -> str:
    return escape(_allowed(text))


def _allowed(text: str) -> str:
    """A text without the characters that no XML may hold."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
