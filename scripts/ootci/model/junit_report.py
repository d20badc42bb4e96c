"""Reading JUnit XML that is not ours: junitparser reads each test case, behind a guard that bounds what it gets.

The reports are hostile. expat calls the guard, which refuses document types, entities, and too much of anything, and
hands over one test case at a time, so that what is held does not grow with the report.

JUnit XML has no standard. What is understood here was seen in reports of pytest 9, unittest-xml-reporting 4,
GoogleTest 1.12, CTest 3.25 and Maven's Surefire plugin 3.5.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from junitparser import Error, Failure, Skipped
from junitparser.xunit2 import FlakyError, InterimResult, RerunError, TestCase

from ootci.model.device import OURS
from ootci.model.excerpt import MAX_TEXT, allowed, excerpt, one_line, short_id
from ootci.model.outcome import Attempt, Outcome, OutcomeName, each_once, way
from ootci.model.record import open_plain
from ootci.model.run import ReportState

MAX_BYTES = 256 * 1024 * 1024
MAX_CASES = 250_000
"""Of all reports of a suite: a run.json of as many can still be read."""
MAX_DEPTH = 50
MAX_ELEMENTS = 1_000
"""Of one test case."""
MAX_ATTEMPTS = 10
CHUNK = 1 << 18

_SUITES = frozenset({"testsuites", "testsuite"})
_XFAIL = ("pytest.xfail", "XFAIL")
"""pytest's and unittest-xml-reporting's types of a test that failed as expected."""
_STRICT_XPASS = "[XPASS(strict)]"
_SKIPPED_BY_THE_TEST = ("SKIP_RETURN_CODE", "SKIP_REGULAR_EXPRESSION")
"""CTest's reasons for `notrun` that mean that the test ran and asked to be skipped."""
_BY_STATUS = {
    # GoogleTest (`notrun`) and CTest (`disabled`) leave the element out: a naive reader sees a pass.
    "notrun": (OutcomeName.SKIPPED, "switched off"),
    "disabled": (OutcomeName.SKIPPED, "switched off"),
    "skipped": (OutcomeName.SKIPPED, "skipped"),
    "fail": (OutcomeName.FAILED, "failed, without a text"),
    "failed": (OutcomeName.FAILED, "failed, without a text"),
    "error": (OutcomeName.ERROR, "ended in an error, without a text"),
}


class _Stop(Exception):
    """The report is not read on."""

    def __init__(self, state: ReportState, detail: str) -> None:
        self.state = state
        self.detail = detail


class _Refused(_Stop):
    """The report is refused, and nothing in it counts."""

    def __init__(self, why: str) -> None:
        super().__init__(ReportState.UNREADABLE, f"report unreadable: {why}")


@dataclass(frozen=True)
class Report:
    """The reports of one suite, combined.

    Attributes:
        outcomes: every complete test case, in order; no id is there twice.
        state: the state of the reports; nothing of an ``unreadable`` one counts.
        detail: one line, when the state is not ``complete``.

    """

    outcomes: tuple[Outcome, ...]
    state: ReportState
    detail: str | None = None


def read_reports(paths: Sequence[Path], suite: str | None) -> Report:
    """Read the reports of a suite. Never raises for what is in them: a bad report is a state.

    Args:
        paths: the files; the state is the first bad one's.
        suite: the name that ids begin with. None where the reports are of our own suites, whose ids contain it.

    """
    if not paths:
        return Report((), ReportState.MISSING, "no report was written")
    found: list[Outcome] = []
    bad: tuple[ReportState, str] | None = None
    for path in paths:
        cases, state = _read(path, suite, MAX_CASES - len(found))
        found += cases
        if state is not None and (bad is None or bad[0] is ReportState.NO_TESTS):
            bad = (state[0], state[1] if len(paths) == 1 else f"{path.name}: {state[1]}")
    outcomes = each_once(found)
    # A report without tests beside others that have some is nothing to complain of.
    if bad is None or (outcomes and bad[0] is ReportState.NO_TESTS):
        return Report(outcomes, ReportState.COMPLETE)
    return Report(outcomes, *bad)


def _read(path: Path, suite: str | None, room: int) -> tuple[list[Outcome], tuple[ReportState, str] | None]:
    outcomes: list[Outcome] = []

    def keep(element: Element) -> None:
        if len(outcomes) == room:
            detail = f"the report holds more than {MAX_CASES} tests; those after them were not read"
            raise _Stop(ReportState.TRUNCATED, detail)
        outcomes.append(_outcome(element, suite))

    try:
        _feed(path, _Guard(keep))
    except _Stop as stop:
        return outcomes if stop.state is ReportState.TRUNCATED else [], (stop.state, stop.detail)
    return outcomes, None if outcomes else (ReportState.NO_TESTS, "the report holds no tests")


def _feed(path: Path, guard: _Guard) -> None:
    try:
        with open_plain(path) as stream:
            size = os.fstat(stream.fileno()).st_size
            if size > MAX_BYTES:
                raise _Refused(f"it is larger than {MAX_BYTES >> 20} MiB")
            if size == 0:
                raise _Stop(ReportState.EMPTY, "the report is an empty file")
            for chunk in iter(lambda: stream.read(CHUNK), b""):
                guard.feed(chunk)
        guard.feed(b"", last=True)
    except FileNotFoundError:
        raise _Stop(ReportState.MISSING, "no report was written") from None
    except expat.ExpatError as error:
        if not guard.is_junit:
            raise _Refused(f"it is not XML (line {error.lineno})") from error
        text = f"the report breaks off at line {error.lineno}: {expat.ErrorString(error.code)}"
        raise _Stop(ReportState.TRUNCATED, text) from error
    except OSError as error:
        raise _Refused(error.strerror or str(error)) from error
    except (LookupError, ValueError) as error:
        # expat asks Python for encodings that it does not know itself.
        raise _Refused(f"its encoding cannot be read: {error}") from error
    if not guard.is_junit:
        raise _Refused("it is XML, but not JUnit: there is no testsuite")


class _Guard:
    """Makes the elements of test cases, and refuses what no JUnit report needs."""

    def __init__(self, keep: Callable[[Element], None]) -> None:
        self.is_junit = False
        self._keep = keep
        self._builder: TreeBuilder | None = None
        self._depth = self._elements = self._held = 0
        self._text: list[str] = []
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_declaration
        self._parser.EntityDeclHandler = self._refuse_declaration

    def feed(self, chunk: bytes, *, last: bool = False) -> None:
        """Read on."""
        self._parser.Parse(chunk, last)

    def _refuse_declaration(self, *_: object) -> None:
        raise _Refused("it declares a document type (DOCTYPE) or an entity, which no JUnit report needs")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Refused(f"it nests deeper than {MAX_DEPTH} elements")
        if self._builder is not None:
            self._elements += 1
            if self._elements > MAX_ELEMENTS:
                raise _Refused(f"a test case holds more than {MAX_ELEMENTS} elements")
            if tag == "testcase":
                raise _Refused("a test case is inside another one")
            self._flush(self._builder)
            self._builder.start(tag, attributes)
        elif tag == "testcase" and self.is_junit:
            self._builder, self._elements = TreeBuilder(), 0
            self._builder.start(tag, attributes)
            self._parser.CharacterDataHandler = self._data
        elif tag in _SUITES:
            self.is_junit = True

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if self._builder is None:
            return
        self._flush(self._builder)
        self._builder.end(tag)
        if tag == "testcase":
            self._keep(self._builder.close())
            self._builder = self._parser.CharacterDataHandler = None

    def _data(self, text: str) -> None:
        self._text.append(text)
        self._held += len(text)
        if self._held > 4 * MAX_TEXT:
            # However long a text gets, a few times the limit is held.
            self._text = [excerpt("".join(self._text)) or ""]
            self._held = len(self._text[0])

    def _flush(self, builder: TreeBuilder) -> None:
        if self._text:
            builder.data("".join(self._text))
            self._text, self._held = [], 0


def _outcome(element: Element, suite: str | None) -> Outcome:
    if len(element) == 0 and "status" not in element.attrib:
        # Most tests: junitparser would find nothing in it.
        return Outcome(*_id(element, suite), OutcomeName.PASSED, None, None, _seconds(element.get("time")))
    case = TestCase.fromelem(element)  # type: ignore[no-untyped-call]
    ours = {} if suite else {item.name: item.value or "" for item in case.properties()}
    outcome, message = _by_element(case, element.get("status", "").lower(), ours.get("unsupported"))
    text = "\n".join([result.text for result in case.result if result.text])
    if case.result and not text.strip():
        text = case.system_out or case.system_err or ""
    attempts = tuple([_attempt(again) for again in case.interim_result[:MAX_ATTEMPTS]])
    if attempts and outcome is OutcomeName.PASSED:
        # It passed in the end. The first attempt stays what it was, as in our own runs.
        first, *later = attempts
        outcome, message, text = first.outcome, first.message, first.text or ""
        attempts = (*later, Attempt(outcome=OutcomeName.PASSED))
    return Outcome(
        *_id(element, suite),
        outcome=outcome,
        duration=_seconds(element.get("time")),
        message=one_line(message),
        text=excerpt(text),
        ran=way(ours.get("ran")),
        attempts=attempts,
    )


def _by_element(case: TestCase, status: str, unsupported: str | None) -> tuple[OutcomeName, str | None]:
    """The outcome of a test case by its worst element and its attribute ``status``, and that element's message.

    ``unsupported`` is why a skipped test of our own suites is unsupported.
    """
    found = {type(result): result for result in reversed(case.result)}
    worst = found.get(Error) or found.get(Failure) or found.get(Skipped)
    if worst is None:
        return _BY_STATUS.get(status, (OutcomeName.PASSED, None))
    message = worst.message
    if isinstance(worst, Failure):
        return (OutcomeName.XPASSED if (message or "").startswith(_STRICT_XPASS) else OutcomeName.FAILED), message
    if isinstance(worst, Error):
        return (OutcomeName.XPASSED if worst.type == "UnexpectedSuccess" else OutcomeName.ERROR), message
    if unsupported is not None:
        return OutcomeName.UNSUPPORTED, unsupported
    if status == "notrun" and not (message or "").startswith(_SKIPPED_BY_THE_TEST):
        # CTest reports "skipped" for a test that it could not even start.
        return OutcomeName.NOT_RUN, message
    return (OutcomeName.XFAILED if worst.type in _XFAIL else OutcomeName.SKIPPED), message


def _attempt(again: InterimResult) -> Attempt:
    outcome = OutcomeName.ERROR if isinstance(again, (FlakyError, RerunError)) else OutcomeName.FAILED
    text = (again.stack_trace or again.text or "").strip()
    return Attempt(outcome=outcome, message=one_line(again.message), text=excerpt(text))


def _id(element: Element, suite: str | None) -> tuple[str, str]:
    """The id of a test case, and its suite."""
    name, classname = allowed(element.get("name", "")), allowed(element.get("classname", ""))
    if suite is None:
        return _our_id(name, classname)
    # CTest gives a test's name in the place of its class, too.
    both = f"{classname}::{name}" if classname and name and classname != name else name or classname or "unnamed"
    return short_id(f"{suite}/{both}"), suite


def _our_id(name: str, classname: str) -> tuple[str, str]:
    """The id of a test of our own suites, which pytest wrote as ``smoke.test_x.TestClass`` and a name.

    A file that cannot be collected has the name ``smoke.test_x`` and no class.
    """
    place, suite = _our_place(classname or name)
    if suite is None:
        return short_id(f"{classname}::{name}"), "unknown"
    return short_id(f"{place}::{name}" if classname else place), suite


# Tests that follow each other are of one class.
@lru_cache(maxsize=64)
def _our_place(dotted: str) -> tuple[str, str | None]:
    """What the ids of the tests of a class begin with, and its suite; None where it is of none of ours."""
    parts = dotted.split(".")
    begin = next((number for number, part in enumerate(parts) if part in OURS), None)
    if begin is None:
        return dotted, None
    end = next((number for number, part in enumerate(parts) if part.startswith("test_")), len(parts) - 1)
    return "::".join(["/".join(parts[begin : end + 1]) + ".py", *parts[end + 1 :]]), parts[begin]


def _seconds(text: str | None) -> float:
    """A duration in seconds, to the millisecond; 0 for what is none, such as a negative one."""
    try:
        seconds = float((text or "0").replace(",", ""))
    except ValueError:
        return 0.0
    return round(seconds, 3) if 0 <= seconds < 1e7 else 0.0
