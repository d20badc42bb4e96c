"""Reading JUnit XML that a device run wrote: one pass, bounded, and nothing in it is trusted.

expat reads it, because it is the fastest safe reader at hand; document types and entities are refused in a handler.
What no XML may hold is replaced before (``mend.py``), and a report that breaks off is kept up to the cut. What the
elements and attributes of each producer mean is in ``case.py``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from xml.parsers import expat

from ootci.model.ids import Ids
from ootci.model.outcome import Outcome
from ootci.model.run import ReportState

from .case import MAX_NAME, TELLING, UNDERSTOOD, Case, plain_case
from .excerpt import Excerpt
from .mend import Mender

MAX_BYTES = 512 * 1024 * 1024
MAX_CASES = 250_000
"""Of one report; a run.json of as many can still be read. Of a hostile report it is the memory that would end first."""
MAX_DEPTH = 50
MAX_ROOTS = 1_000
MAX_DECLARATION = 256
"""Bytes of an XML declaration, which may lie across the border of two chunks."""
CHUNK = 1 << 18


class _Refused(Exception):
    pass


_ENDINGS = (_Refused, expat.ExpatError, OSError, LookupError, ValueError)
"""Whatever can come of a file that a device run wrote."""


@dataclass(frozen=True)
class Report:
    """What a report says.

    Attributes:
        outcomes: every complete test case, in order; no id is there twice.
        state: what became of the report; the state ``no_tests`` is a complete report without a test case.
        detail: one line, when the state is not ``complete``.

    """

    outcomes: tuple[Outcome, ...]
    state: ReportState
    detail: str | None = None


def read_junit(path: Path) -> Report:
    """Read one report. Never raises for what is in it: a bad report is a state."""
    cases = JunitCases(path)
    found = iter(cases)
    outcomes = _each_once(tuple(islice(found, MAX_CASES)))
    if next(found, None) is not None:
        detail = f"the report holds more than {MAX_CASES} tests; those after them were not read"
        return Report(outcomes, ReportState.TRUNCATED, detail)
    # What must not be read is not believed in part, either.
    return Report(() if cases.state in _WITHOUT_CASES else outcomes, cases.state, cases.detail)


def _each_once(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    """The outcomes, those with another id whose id an earlier one has."""
    if len({outcome.id for outcome in outcomes}) == len(outcomes):
        return outcomes
    ids = Ids()
    unique = ((outcome, ids.add(outcome.id)) for outcome in outcomes)
    return tuple(item if item.id == test_id else item.model_copy(update={"id": test_id}) for item, test_id in unique)


class JunitCases:
    """The test cases of one report, one at a time: what is held does not grow with their number.

    Args:
        path: the report; whether it can be read at all shows when it is read.

    Attributes:
        state: what became of the report, once all of it was read. Of one that is ``unreadable`` nothing counts.
        detail: one line, when the state is not ``complete``.

    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reader = _Reader()
        self._size = 0
        self.state = ReportState.MISSING
        self.detail: str | None = "no report was written"

    def __iter__(self) -> Iterator[Outcome]:
        """Every complete test case, in order. Two of them may have one id."""
        reader, found = self._reader, 0
        try:
            with self._path.open("rb") as stream:
                self._size = os.fstat(stream.fileno()).st_size
                if self._size > MAX_BYTES:
                    raise _Refused(f"the report is larger than {MAX_BYTES >> 20} MiB")
                mender = Mender()
                for chunk in iter(lambda: stream.read(CHUNK), b""):
                    reader.feed(mender.feed(chunk))
                    found += len(reader.outcomes)
                    yield from reader.outcomes
                    reader.outcomes.clear()
                reader.feed(mender.feed(b"", last=True))
            reader.end()
            found += len(reader.outcomes)
            yield from reader.outcomes
        except _ENDINGS as error:
            # Whatever is wrong with the rest, what stands before it was reported.
            yield from reader.outcomes
            self.state, self.detail = self._broken(error)
        else:
            self.state, self.detail = self._whole(found)

    def _whole(self, found: int) -> tuple[ReportState, str | None]:
        if not self._reader.is_junit:
            return ReportState.UNREADABLE, "the file is XML, but not JUnit"
        if not found:
            return ReportState.NO_TESTS, "the report holds no tests"
        return ReportState.COMPLETE, None

    def _broken(self, error: Exception) -> tuple[ReportState, str]:
        if isinstance(error, FileNotFoundError):
            return ReportState.MISSING, "no report was written"
        if isinstance(error, expat.ExpatError):
            position = f"line {error.lineno}"
            if self._size == 0:
                return ReportState.EMPTY, "the report is an empty file"
            if not self._reader.is_junit:
                return ReportState.UNREADABLE, f"the report is not XML ({position})"
            text = f"the report breaks off at {position} of {self._size} bytes: {expat.ErrorString(error.code)}"
            return ReportState.TRUNCATED, text
        if isinstance(error, OSError):
            return ReportState.UNREADABLE, f"the report cannot be read: {error.strerror}"
        if isinstance(error, _Refused):
            return ReportState.UNREADABLE, str(error)
        # expat asks Python for encodings that it does not know itself.
        return ReportState.UNREADABLE, f"the report's encoding cannot be read: {error}"


class _Reader:
    __slots__ = (
        "_attributes",
        "_case",
        "_depth",
        "_fed",
        "_parser",
        "_roots",
        "_suite",
        "_suites",
        "_tail",
        "is_junit",
        "outcomes",
    )

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.is_junit = False
        self._suites: list[str] = []
        self._suite = _suite_name("")
        self._attributes: dict[str, str] | None = None
        """Those of the test case that is being read."""
        self._case: Case | None = None
        """That test case, once there is an element in it."""
        self._depth = 0
        self._roots = 0
        self._begin()

    def _begin(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._parser.EntityDeclHandler = self._refuse_doctype
        self._fed, self._tail = 0, b""

    def feed(self, chunk: bytes) -> None:
        """Read on. After the end of a document another may begin: reports are concatenated by some producers."""
        while True:
            known = self._tail + chunk
            begins = self._fed - len(self._tail)
            try:
                self._parser.Parse(chunk, False)
            except expat.ExpatError as error:
                rest = known[max(self._parser.ErrorByteIndex - begins, 0) :].lstrip()
                another = rest.startswith(b"<") and error.code in _ANOTHER_DOCUMENT
                if not another or not self.is_junit or self._depth or self._roots >= MAX_ROOTS:
                    raise
                self._roots += 1
                self._begin()
                chunk = rest
            else:
                self._fed, self._tail = self._fed + len(chunk), known[-MAX_DECLARATION:]
                return

    def end(self) -> None:
        """Say that nothing comes any more.

        Raises:
            xml.parsers.expat.ExpatError: the document is not complete.

        """
        self._parser.Parse(b"", True)

    def _refuse_doctype(self, *_: object) -> None:
        raise _Refused("the report declares a document type or an entity, which no JUnit report needs")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _Refused(f"the report nests deeper than {MAX_DEPTH} elements")
        if tag == "testcase":
            if self.is_junit:
                # No producer nests test cases; whoever does may not make the outer one vanish.
                if self._attributes is not None:
                    self._finish_case()
                self._attributes = attributes
        elif tag in _SUITES:
            self.is_junit = True
            self._suites.append(_suite_name(attributes.get("name", "")))
            self._suite = self._suites[-1]
        elif tag in UNDERSTOOD and self._attributes is not None:
            case = self._case
            if case is None:
                case = self._case = Case(self._attributes, self._suite)
            before = case.reading
            case.start(tag, attributes)
            if case.reading is not before:
                self._listen(case.reading)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag == "testcase":
            if self._attributes is not None:
                self._finish_case()
        elif tag in _SUITES:
            self._suites.pop()
            self._suite = self._suites[-1] if self._suites else _suite_name("")
        elif tag in TELLING and (case := self._case) is not None:
            before = case.reading
            case.end(tag)
            if case.reading is not before:
                self._listen(case.reading)

    def _listen(self, reading: Excerpt | None) -> None:
        # Most text is the space between elements: expat is only asked for what will be kept.
        self._parser.CharacterDataHandler = reading.add if reading is not None else None

    def _finish_case(self) -> None:
        attributes, case = self._attributes, self._case
        if case is not None:
            self.outcomes.append(case.outcome())
            if case.reading is not None:
                self._listen(None)
            self._case = None
        elif attributes is not None:
            self.outcomes.append(plain_case(attributes, self._suite))
        self._attributes = None


def _suite_name(name: str) -> str:
    return name[:MAX_NAME] or "unknown"


_ANOTHER_DOCUMENT = frozenset(
    expat.errors.codes[message]
    for message in (expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT, expat.errors.XML_ERROR_MISPLACED_XML_PI)
)
_SUITES = frozenset({"testsuites", "testsuite"})
_WITHOUT_CASES = (ReportState.MISSING, ReportState.UNREADABLE, ReportState.EMPTY)
