"""One test case of a JUnit report, and what the producers mean by their elements and attributes.

JUnit XML has no standard. What is understood here was seen in reports of pytest 9, unittest-xml-reporting 4,
GoogleTest 1.12 and CTest 3.25, and in the schema of Maven's Surefire plugin (surefire-test-report.xsd).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import lru_cache

from ootci.model.ids import short_id
from ootci.model.outcome import Attempt, Outcome, OutcomeName, way

from .excerpt import Excerpt

MAX_NAME = 100
MAX_MESSAGE = 500
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
TELLING = frozenset({*_RESULTS, *_AGAIN, *_OUTPUTS})
"""The elements in a test case whose text and whose end mean something."""
UNDERSTOOD = TELLING | {"property"}
"""The elements in a test case that mean anything."""
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


_PASSED = OutcomeName.PASSED
_EXACT = {name.value: name for name in OutcomeName}


def plain_case(attributes: Mapping[str, str], suite: str) -> Outcome:
    """A test case without any element in it, as most are.

    Args:
        attributes: of the element ``testcase``.
        suite: the suite's name, capped.

    """
    if "status" in attributes:
        return Case(attributes, suite).outcome()
    # By position, and without a look at the enum: hundreds of thousands of them come one after the other.
    return Outcome(_id(attributes, None), suite, _PASSED, None, None, _seconds(attributes.get("time")))


class _Again:
    """One of several attempts that failed."""

    __slots__ = ("_message", "_outcome", "text")

    def __init__(self, outcome: OutcomeName, message: str | None) -> None:
        self._outcome = outcome
        self._message = message
        self.text = Excerpt()

    def attempt(self) -> Attempt:
        text = self.text.shown()
        return Attempt(outcome=self._outcome, message=one_line(self._message), text=text.strip() if text else None)


class Case:
    """A test case that is being read and has elements in it.

    Args:
        attributes: of the element ``testcase``.
        suite: the suite's name, capped.

    """

    __slots__ = (
        "_again",
        "_again_tag",
        "_attributes",
        "_message",
        "_output",
        "_properties",
        "_result",
        "_suite",
        "_text",
        "_type",
        "reading",
    )

    def __init__(self, attributes: Mapping[str, str], suite: str) -> None:
        self._attributes = attributes
        self._suite = suite
        self._properties: dict[str, str] = {}
        self._result: OutcomeName | None = None
        self._type = ""
        self._message: str | None = None
        self._text: Excerpt | None = None
        self._output: Excerpt | None = None
        self.reading: Excerpt | None = None
        """Where the text goes that comes next; None where it is of no interest."""
        self._again: list[_Again] = []
        self._again_tag: str | None = None

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        """An element inside the test case begins."""
        if tag == "property" and self._again_tag is None:
            if len(self._properties) < MAX_PROPERTIES:
                self._properties[attributes.get("name", "")] = attributes.get("value", "")
        elif self._again_tag is not None:
            # Inside an attempt only its own text counts, not what it printed.
            self.reading = None if tag in _OUTPUTS else self.reading
        elif tag in _AGAIN:
            again = _Again(_AGAIN[tag], attributes.get("message"))
            if len(self._again) < MAX_ATTEMPTS:
                self._again.append(again)
            self._again_tag, self.reading = tag, again.text
        elif tag in _RESULTS:
            self._start_result(_RESULTS[tag], attributes)
        elif tag in _OUTPUTS and self.reading is None:
            self._output = self._output or Excerpt()
            self.reading = self._output

    def _start_result(self, result: OutcomeName, attributes: Mapping[str, str]) -> None:
        # A case with several results is as bad as its worst; elements come in no particular order.
        if _RANK[result] > _RANK[self._result]:
            self._result, self._type = result, attributes.get("type", "")
            self._message = attributes.get("message")
        if self._text is None:
            self._text = Excerpt()
        elif not self._text.is_empty:
            self._text.add("\n")
        self.reading = self._text

    def end(self, tag: str) -> None:
        """An element inside the test case ends."""
        if self._again_tag is not None:
            if tag == self._again_tag:
                self._again_tag = self.reading = None
        elif self.reading is not None and tag in (_RESULTS if self.reading is self._text else _OUTPUTS):
            self.reading = None

    def outcome(self) -> Outcome:
        """What the case says, all of it capped."""
        properties = self._properties
        by_element, message = self._by_element()
        exact = _EXACT.get(properties.get("outcome", ""))
        result = by_element if exact is None or exact not in _ADDED.get(by_element, {by_element}) else exact
        text = self._text.shown() if self._text is not None else None
        if text is None and result is not _PASSED and self._result is not None and self._output is not None:
            text = self._output.shown()
        attempts = tuple([again.attempt() for again in self._again])
        if attempts and result is _PASSED:
            # It passed in the end. The first attempt stays what it was, as in our own runs.
            first, *later = attempts
            result, message, text = first.outcome, first.message, first.text
            attempts = (*later, Attempt(outcome=_PASSED))
        return Outcome(
            id=_id(self._attributes, properties.get("id")),
            suite=self._suite,
            outcome=result,
            # Few capabilities and titles belong to many tests, so each is held once.
            capability=sys.intern(properties.get("capability", "")[:MAX_NAME]) or None,
            title=sys.intern(properties.get("title", "")[:MAX_MESSAGE]) or None,
            duration=_seconds(self._attributes.get("time")),
            message=one_line(message),
            text=text or None,
            ran=way(properties.get("ran")),
            attempts=attempts,
        )

    def _by_element(self) -> tuple[OutcomeName, str | None]:
        if self._result is None:
            if "status" not in self._attributes:
                return _PASSED, None
            return _BY_STATUS.get(self._attributes["status"].lower(), (_PASSED, None))
        message = self._message
        if self._result is OutcomeName.FAILED and (message or "").startswith(_STRICT_XPASS):
            return OutcomeName.XPASSED, message
        if self._result is OutcomeName.SKIPPED and self._attributes.get("status", "").lower() == "notrun":
            # CTest says "skipped" of a test that it could not even start.
            asked = (message or "").startswith(_SKIPPED_BY_THE_TEST)
            return (OutcomeName.SKIPPED if asked else OutcomeName.NOT_RUN), message
        return _BY_TYPE.get((self._result, self._type), self._result), message


def _id(attributes: Mapping[str, str], stated: str | None) -> str:
    if stated:
        return short_id(stated)
    name, classname = attributes.get("name", ""), attributes.get("classname", "")
    # CTest gives a test's name in the place of its class, too.
    if classname and name and classname != name:
        return short_id(f"{classname}::{name}")
    return short_id(name or classname or "unnamed")


def one_line(text: str | None) -> str | None:
    """A text in one line, capped; None when there is nothing to read."""
    return " ".join(text.split())[:MAX_MESSAGE] or None if text else None


def _seconds(text: str | None) -> float:
    """A duration in seconds, to the millisecond."""
    return _read_again(text) if text is not None and len(text) < _LONG_NUMBER else _read(text)


def _read(text: str | None) -> float:
    try:
        seconds = float(text or "0")
    except ValueError:
        return _seconds(text.replace(",", "")) if text and "," in text else 0.0
    return round(seconds, 3) if 0 <= seconds < 1e7 else 0.0


_LONG_NUMBER = 16
_read_again = lru_cache(maxsize=4096)(_read)
"""Most durations are short and have three digits behind the point, so that they come again."""
