"""Reading JUnit XML that a device run wrote: one pass, bounded, and nothing in it is trusted.

expat reads it, because it is the fastest safe reader at hand; document types and entities are refused in a handler. A
report that breaks off is kept up to the cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.run import ReportState

MAX_BYTES = 512 * 1024 * 1024
MAX_DEPTH = 50
MAX_ID = 1_000
MAX_NAME = 100
MAX_MESSAGE = 500
MAX_TEXT = 16_000
CHUNK = 1 << 20

_BY_ELEMENT = {
    "failure": OutcomeName.FAILED,
    "error": OutcomeName.ERROR,
    "skipped": OutcomeName.SKIPPED,
    "flakyFailure": None,
    "rerunFailure": None,
}


class _Refused(Exception):
    pass


@dataclass(frozen=True)
class Report:
    """What a report says.

    Attributes:
        outcomes: every complete test case, in order.
        state: what became of the report; the state ``no_tests`` is a complete report without a test case.
        detail: one line, when the state is not ``complete``.

    """

    outcomes: tuple[Outcome, ...]
    state: ReportState
    detail: str | None = None


@dataclass
class _Case:
    name: str
    classname: str
    suite: str
    duration: float
    properties: dict[str, str] = field(default_factory=dict)
    outcome: OutcomeName = OutcomeName.PASSED
    message: str | None = None
    text: list[str] = field(default_factory=list)
    text_size: int = 0


def read_junit(path: Path) -> Report:
    """Read one report. Never raises for what is in it: a bad report is a state."""
    try:
        size = path.stat().st_size
    except OSError:
        return Report((), ReportState.MISSING, "no report was written")
    if size == 0:
        return Report((), ReportState.EMPTY, "the report is an empty file")
    if size > MAX_BYTES:
        return Report((), ReportState.UNREADABLE, f"the report is larger than {MAX_BYTES >> 20} MiB")
    reader = _Reader()
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                reader.parser.Parse(chunk, False)
        reader.parser.Parse(b"", True)
    except _Refused as refused:
        return Report((), ReportState.UNREADABLE, str(refused))
    except expat.ExpatError as error:
        return _broken(reader, error, size)
    except OSError as error:
        return Report((), ReportState.UNREADABLE, f"the report cannot be read: {error.strerror}")
    except (LookupError, ValueError) as error:
        # expat asks Python for encodings that it does not know itself.
        return Report((), ReportState.UNREADABLE, f"the report's encoding cannot be read: {error}")
    outcomes = tuple(reader.outcomes)
    if not reader.is_junit:
        return Report((), ReportState.UNREADABLE, "the file is XML, but not JUnit")
    if not outcomes:
        return Report((), ReportState.NO_TESTS, "the report holds no tests")
    return Report(outcomes, ReportState.COMPLETE)


def _broken(reader: _Reader, error: expat.ExpatError, size: int) -> Report:
    position = f"line {error.lineno}"
    if not reader.is_junit:
        return Report((), ReportState.UNREADABLE, f"the report is not XML ({position})")
    # Whatever is wrong with the rest, what stands before it was reported.
    detail = f"the report breaks off at {position} of {size} bytes: {expat.ErrorString(error.code)}"
    return Report(tuple(reader.outcomes), ReportState.TRUNCATED, detail)


class _Reader:
    def __init__(self) -> None:
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._refuse_doctype
        self.parser.EntityDeclHandler = self._refuse_doctype
        self.outcomes: list[Outcome] = []
        self.is_junit = False
        self._suites: list[str] = []
        self._case: _Case | None = None
        self._in_result = False
        self._depth = 0

    def _refuse_doctype(self, *_: object) -> None:
        raise _Refused("the report declares a document type or an entity, which no JUnit report needs")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Refused(f"the report nests deeper than {MAX_DEPTH} elements")
        if tag in ("testsuites", "testsuite"):
            self.is_junit = True
            self._suites.append(attributes.get("name", ""))
        elif tag == "testcase" and self.is_junit:
            if self._case is not None:
                # No producer nests test cases; whoever does may not make the outer one vanish.
                self.outcomes.append(_outcome(self._case))
            self._case = _Case(
                name=attributes.get("name", ""),
                classname=attributes.get("classname", ""),
                suite=self._suites[-1] if self._suites else "",
                duration=_seconds(attributes.get("time")),
            )
        elif self._case is not None:
            self._start_in_case(self._case, tag, attributes)

    def _start_in_case(self, case: _Case, tag: str, attributes: dict[str, str]) -> None:
        if tag == "property":
            case.properties[attributes.get("name", "")] = attributes.get("value", "")
        elif (outcome := _BY_ELEMENT.get(tag)) is not None:
            # A case with several results is as bad as its worst; elements come in no particular order.
            if case.outcome is OutcomeName.PASSED or outcome is not OutcomeName.SKIPPED:
                case.outcome = outcome
                case.message = attributes.get("message")
            self._in_result = True

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag in ("testsuites", "testsuite"):
            self._suites.pop()
        elif tag == "testcase" and self._case is not None:
            self.outcomes.append(_outcome(self._case))
            self._case = None
        elif tag in _BY_ELEMENT:
            self._in_result = False

    def _characters(self, text: str) -> None:
        if self._in_result and self._case is not None:
            self._case.text_size += len(text)
            # Twice the cap is kept, so that head and tail can be chosen at the end without holding everything.
            if self._case.text_size <= 2 * MAX_TEXT:
                self._case.text.append(text)
            else:
                kept = "".join(self._case.text) + text
                self._case.text = [kept[:MAX_TEXT], kept[-MAX_TEXT:]] if len(kept) > 2 * MAX_TEXT else [kept]


def _outcome(case: _Case) -> Outcome:
    stated = case.properties.get("outcome")
    exact = OutcomeName(stated) if stated in OutcomeName.__members__.values() else None
    return Outcome(
        id=(case.properties.get("id") or "::".join(filter(None, (case.classname, case.name))) or "unnamed")[:MAX_ID],
        suite=case.suite[:MAX_NAME] or "unknown",
        outcome=_worse(case.outcome, exact),
        capability=case.properties.get("capability", "")[:MAX_NAME] or None,
        title=case.properties.get("title", "")[:MAX_MESSAGE] or None,
        duration=case.duration,
        message=case.message[:MAX_MESSAGE] if case.message else None,
        text=_head_and_tail(case),
    )


_ADDED = {
    OutcomeName.PASSED: frozenset(OutcomeName),
    OutcomeName.FAILED: {OutcomeName.FAILED, OutcomeName.XPASSED},
    OutcomeName.ERROR: {OutcomeName.ERROR, OutcomeName.CRASHED, OutcomeName.TIMED_OUT, OutcomeName.NOT_RUN},
    OutcomeName.SKIPPED: {OutcomeName.SKIPPED, OutcomeName.XFAILED, OutcomeName.UNSUPPORTED},
}


def _worse(by_element: OutcomeName, stated: OutcomeName | None) -> OutcomeName:
    """The stated outcome may refine what the elements say or be worse, but never turns a failure into a pass."""
    return stated if stated is not None and stated in _ADDED[by_element] else by_element


def _head_and_tail(case: _Case) -> str | None:
    text = "".join(case.text)
    if not text:
        return None
    if case.text_size <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return f"{text[:half]}\n[{case.text_size - 2 * half} characters cut]\n{text[-half:]}"


def _seconds(text: str | None) -> float:
    try:
        seconds = float((text or "0").replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e7 else 0.0
