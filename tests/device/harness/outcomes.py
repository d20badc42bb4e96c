"""The outcome of a test, in the words that the whole project uses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import pytest
from _pytest.outcomes import (
    Failed,
    Skipped,
)  # the classes behind pytest.skip.Exception and such, which type checkers do not see

UNSUPPORTED = "unsupported"
"""The property, and the outcome, of a test that ended so."""
SEEN = "seen"
"""The property that keeps the text of a failure that became unsupported."""


class Unsupported(Skipped):
    """The device refuses, in a documented way."""


class Differs(Failed):
    """A failure that brings its own lines of Python.

    Attributes:
        lines: they fail with the same error; empty where there are none.

    """

    __module__ = "builtins"  # so that it is told by its name only, as pytest's own failures are

    def __init__(self, message: str, lines: tuple[str, ...]) -> None:
        super().__init__(message, pytrace=False)
        self.lines = lines


def unsupported(reason: str) -> NoReturn:
    """End the test as unsupported.

    Only for what torch or the device refuses in a documented way, never for a failure that looks like a refusal.

    Raises:
        Unsupported: always.

    """
    raise Unsupported(reason)


def mark_unsupported(report: pytest.TestReport, reason: str) -> None:
    """Make a report say that its phase ended as unsupported, also when it failed."""
    report.user_properties.append((UNSUPPORTED, reason))
    if report.failed:
        report.user_properties.append((SEEN, report.longreprtext))
        path, line, _ = report.location
        report.outcome = "skipped"
        report.longrepr = (path, line or 0, reason)


def unsupported_reason(report: pytest.TestReport) -> str | None:
    """Why a report's phase ended as unsupported; None when it did not."""
    return next((str(reason) for name, reason in report.user_properties if name == UNSUPPORTED), None)


def failure_text(report: pytest.TestReport) -> str | None:
    """The text of a failure, also of one that became unsupported."""
    kept = next((str(text) for name, text in report.user_properties if name == SEEN), None)
    return report.longreprtext if report.failed else kept


def is_unsupported(report: pytest.TestReport) -> bool:
    """Whether a report's phase ended as unsupported."""
    return unsupported_reason(report) is not None


def outcome_of(reports: Iterable[pytest.TestReport]) -> str:
    """The outcome of a test from the reports of its set-up, call and tear-down.

    A failure of the call outweighs one of the tear-down that follows from it.
    """
    by_phase = {report.when: report for report in reports}
    call = by_phase.get("call")
    if call is not None and call.failed:
        # pytest reports a strict expected failure that passed as a failure with this text.
        return "xpassed" if str(call.longrepr).startswith("[XPASS(strict)]") else "failed"
    if any(report.failed for report in by_phase.values()):
        return "error"
    if any(is_unsupported(report) for report in by_phase.values()):
        return UNSUPPORTED
    if any(hasattr(report, "wasxfail") for report in by_phase.values()):
        return "xfailed" if any(report.skipped for report in by_phase.values()) else "xpassed"
    if any(report.skipped for report in by_phase.values()):
        return "skipped"
    return "passed" if call is not None else "error"
