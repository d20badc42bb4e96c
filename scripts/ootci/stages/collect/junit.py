"""Reading JUnit XML that a device run wrote: one pass, bounded, and nothing in it is trusted.

expat reads it, because it is the fastest safe reader at hand; document types and entities are refused in a handler. A
report that breaks off is kept up to the cut. What the elements and attributes of each producer mean is in ``case.py``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat

from ootci.model.outcome import Outcome
from ootci.model.run import ReportState

from .case import Case

MAX_BYTES = 512 * 1024 * 1024
MAX_DEPTH = 50
MAX_ROOTS = 1_000
MAX_DECLARATION = 256
"""Bytes of an XML declaration, which may lie across the border of two chunks."""
CHUNK = 1 << 20


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
                reader.feed(chunk)
        reader.end()
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
        self.outcomes: list[Outcome] = []
        self.is_junit = False
        self._seen: Counter[str] = Counter()
        self._suites: list[str] = []
        self._case: Case | None = None
        self._depth = 0
        self._roots = 0
        self._fed = 0
        self._tail = b""
        self._begin()

    def _begin(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
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
        if tag in ("testsuites", "testsuite"):
            self.is_junit = True
            self._suites.append(attributes.get("name", ""))
        elif tag == "testcase" and self.is_junit:
            # No producer nests test cases; whoever does may not make the outer one vanish.
            self._finish_case()
            self._case = Case(attributes, self._suites[-1] if self._suites else "")
        elif self._case is not None:
            self._case.start(tag, attributes)

    def _end(self, tag: str) -> None:
        self._depth -= 1
        if tag in ("testsuites", "testsuite"):
            self._suites.pop()
        elif tag == "testcase":
            self._finish_case()
        elif self._case is not None:
            self._case.end(tag)

    def _characters(self, text: str) -> None:
        if self._case is not None:
            self._case.characters(text)

    def _finish_case(self) -> None:
        if self._case is None:
            return
        outcome = self._case.outcome()
        self._case = None
        self._seen[outcome.id] += 1
        if (number := self._seen[outcome.id]) > 1:
            # Two tests of one name stay two: neither may hide the other.
            outcome = outcome.model_copy(update={"id": f"{outcome.id} #{number}"})
        self.outcomes.append(outcome)


_ANOTHER_DOCUMENT = frozenset(
    expat.errors.codes[message]
    for message in (expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT, expat.errors.XML_ERROR_MISPLACED_XML_PI)
)
