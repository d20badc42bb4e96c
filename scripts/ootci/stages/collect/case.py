"""One test case of a JUnit report, and what the producers mean by their elements and attributes.

JUnit XML has no standard. What is understood here was seen in reports of pytest 9, unittest-xml-reporting 4,
GoogleTest 1.12 and CTest 3.25, and in the schema of Maven's Surefire plugin (surefire-test-report.xsd).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ootci.model.outcome import Attempt, Outcome, OutcomeName, way

MAX_ID = 1_000
MAX_NAME = 100
MAX_MESSAGE = 500
MAX_TEXT = 16_000
MAX_PROPERTIES = 100
MAX_ATTEMPTS = 10

_RESULTS = {"failure": OutcomeName.FAILED, "error": OutcomeName.ERROR, "skipped": OutcomeName.SKIPPED}
_AGAIN = {
    "flakyFailure": OutcomeName.FAILED,
    "flakyError": OutcomeName.ERROR,
    "rerunFailure": OutcomeName.FAILED,
    "rerunError": OutcomeName.ERROR,
}
"""Surefire's attempts that failed: `flaky...` before one that passed, `rerun...` after the one that is reported."""
_OUTPUTS = frozenset({"system-out", "system-err"})
_RANK = {None: 0, OutcomeName.SKIPPED: 1, OutcomeName.FAILED: 2, OutcomeName.ERROR: 2}

_BY_TYPE = {
    # pytest's and unittest-xml-reporting's words for tests that were expected to fail.
    (OutcomeName.SKIPPED, "pytest.xfail"): OutcomeName.XFAILED,
    (OutcomeName.SKIPPED, "XFAIL"): OutcomeName.XFAILED,
    (OutcomeName.ERROR, "UnexpectedSuccess"): OutcomeName.XPASSED,
}
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

_ADDED = {
    OutcomeName.PASSED: frozenset(OutcomeName),
    OutcomeName.FAILED: {OutcomeName.FAILED, OutcomeName.XPASSED},
    OutcomeName.ERROR: {OutcomeName.ERROR, OutcomeName.CRASHED, OutcomeName.TIMED_OUT, OutcomeName.NOT_RUN},
    OutcomeName.SKIPPED: {OutcomeName.SKIPPED, OutcomeName.XFAILED, OutcomeName.UNSUPPORTED},
}
"""The outcomes that a property may refine an element into; it never turns a failure into a pass."""


class Text:
    """A text of any length of which head and tail are kept."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._kept = 0
        self._size = 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return self._size == 0

    def add(self, text: str) -> None:
        """Append; of what is held, twice the cap at most, so that head and tail can be chosen at the end."""
        self._size += len(text)
        self._parts.append(text)
        self._kept += len(text)
        if self._kept > 4 * MAX_TEXT:
            whole = "".join(self._parts)
            self._parts = [whole[:MAX_TEXT], whole[-MAX_TEXT:]]
            self._kept = 2 * MAX_TEXT

    def shown(self) -> str | None:
        """The text, or its head and tail with how much was cut; None when there is nothing to read."""
        text = "".join(self._parts)
        if not text.strip():
            return None
        if self._size <= MAX_TEXT:
            return text
        half = MAX_TEXT // 2
        return f"{text[:half]}\n[{self._size - 2 * half} characters cut]\n{text[-half:]}"


@dataclass
class _Again:
    """One of several attempts that failed."""

    outcome: OutcomeName
    message: str | None
    text: Text = field(default_factory=Text)

    def attempt(self) -> Attempt:
        text = self.text.shown()
        return Attempt(outcome=self.outcome, message=_line(self.message), text=text.strip() if text else None)


class Case:
    """A test case that is being read.

    Args:
        attributes: of the element ``testcase``.
        suite: name of the innermost ``testsuite``.

    """

    def __init__(self, attributes: Mapping[str, str], suite: str) -> None:
        self._attributes = attributes
        self._suite = suite
        self._properties: dict[str, str] = {}
        self._result: OutcomeName | None = None
        self._type = ""
        self._message: str | None = None
        self._text = Text()
        self._output = Text()
        self._reading: Text | None = None
        self._again: list[_Again] = []
        self._again_tag: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element inside the test case begins."""
        if self._again_tag is not None:
            # Inside an attempt only its own text counts, not what it printed.
            self._reading = None if tag in _OUTPUTS else self._reading
        elif tag == "property":
            if len(self._properties) < MAX_PROPERTIES:
                self._properties[attributes.get("name", "")] = attributes.get("value", "")
        elif tag in _AGAIN:
            again = _Again(_AGAIN[tag], attributes.get("message"))
            if len(self._again) < MAX_ATTEMPTS:
                self._again.append(again)
            self._again_tag, self._reading = tag, again.text
        elif tag in _RESULTS:
            result = _RESULTS[tag]
            # A case with several results is as bad as its worst; elements come in no particular order.
            if _RANK[result] > _RANK[self._result]:
                self._result, self._type = result, attributes.get("type", "")
                self._message = attributes.get("message")
            if not self._text.is_empty:
                self._text.add("\n")
            self._reading = self._text
        elif tag in _OUTPUTS and self._reading is None:
            self._reading = self._output

    def end(self, tag: str) -> None:
        """An element inside the test case ends."""
        if self._again_tag is not None:
            if tag == self._again_tag:
                self._again_tag = self._reading = None
        elif tag in (_RESULTS if self._reading is self._text else _OUTPUTS):
            self._reading = None

    def characters(self, text: str) -> None:
        """Text of the element that is being read."""
        if self._reading is not None:
            self._reading.add(text)

    def outcome(self) -> Outcome:
        """What the case says, all of it capped."""
        by_element, message = self._by_element()
        stated = self._properties.get("outcome")
        exact = OutcomeName(stated) if stated in OutcomeName.__members__.values() else None
        result = exact if exact is not None and exact in _ADDED.get(by_element, {by_element}) else by_element
        text = self._text.shown()
        if text is None and result is not OutcomeName.PASSED and self._result is not None:
            text = self._output.shown()
        attempts = tuple(again.attempt() for again in self._again)
        if attempts and result is OutcomeName.PASSED:
            # It passed in the end. The first attempt stays what it was, as in our own runs.
            first, *later = attempts
            result, message, text = first.outcome, first.message, first.text
            attempts = (*later, Attempt(outcome=OutcomeName.PASSED))
        return Outcome(
            id=self._id()[:MAX_ID],
            suite=self._suite[:MAX_NAME] or "unknown",
            outcome=result,
            capability=self._properties.get("capability", "")[:MAX_NAME] or None,
            title=self._properties.get("title", "")[:MAX_MESSAGE] or None,
            duration=_seconds(self._attributes.get("time")),
            message=_line(message),
            text=text,
            ran=way(self._properties.get("ran")),
            attempts=attempts,
        )

    def _by_element(self) -> tuple[OutcomeName, str | None]:
        status = self._attributes.get("status", "").lower()
        if self._result is None:
            return _BY_STATUS.get(status, (OutcomeName.PASSED, None))
        message = self._message
        if self._result is OutcomeName.FAILED and (message or "").startswith(_STRICT_XPASS):
            return OutcomeName.XPASSED, message
        if self._result is OutcomeName.SKIPPED and status == "notrun":
            # CTest says "skipped" of a test that it could not even start.
            asked = (message or "").startswith(_SKIPPED_BY_THE_TEST)
            return (OutcomeName.SKIPPED if asked else OutcomeName.NOT_RUN), message
        return _BY_TYPE.get((self._result, self._type), self._result), message

    def _id(self) -> str:
        name, classname = self._attributes.get("name", ""), self._attributes.get("classname", "")
        # CTest gives a test's name in the place of its class, too.
        parts = [name] if classname == name else [classname, name]
        return self._properties.get("id") or "::".join(filter(None, parts)) or "unnamed"


def _line(text: str | None) -> str | None:
    return " ".join(text.split())[:MAX_MESSAGE] or None if text else None


def _seconds(text: str | None) -> float:
    try:
        seconds = float((text or "0").replace(",", ""))
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < 1e7 else 0.0
