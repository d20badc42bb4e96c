"""In every suite a failure that a defect of torch causes is expected, and one that is a refusal is unsupported.

A defect is the cause where torch was measured to have it, the test passes with the defect repaired in this process, and
fails again without the repair: a failure of the device's own stays one, and so does a failure by chance.

The table of defects imports torch, so it is imported when a test needs it: torch is imported after the event log was
opened.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pluggy
import pytest
from _pytest.runner import runtestprotocol

from harness.device import is_privateuse1
from harness.outcomes import mark_unsupported
from harness.refusals import refusal
from harness.text import first_line

MARKER = "core_defect"
"""Marks the test that shows a defect: when it passes although the table lists the defect, the entry is out of date."""

MAX_SECONDS = 30.0
"""A test that took longer is not retried, so that all its runs stay within the time that one test may take."""


class RepairedRuns:
    """The pytest plugin that runs a failing test again where a defect of torch can be the cause."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test, and tell of it once its outcome is clear."""
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        _judge(item, nextitem, reports)
        for report in reports:
            refused = getattr(report, "refusal", None)
            if report.failed and refused is not None:
                mark_unsupported(report, refused)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
        """Note what the device refused: the defect of torch that a test shows outweighs it."""
        outcome = yield
        raised = call.excinfo.value if call.excinfo is not None else None
        report: Any = outcome.get_result()
        report.refusal = refusal(raised, item.config.getoption("--device")) if raised else None


def _judge(item: pytest.Item, nextitem: pytest.Item | None, reports: Sequence[pytest.TestReport]) -> None:
    failed = [report for report in reports if report.failed]
    marker = item.get_closest_marker(MARKER)
    marked = None if marker is None else str(marker.args[0])
    device = item.config.getoption("--device")
    if not (failed or marked) or not is_privateuse1(device):
        return
    from harness import defects

    if failed:
        cause = _cause(item, nextitem, reports, marked)
        for report in failed if cause else ():
            report.wasxfail = defects.excuse(str(cause), _seen(report))
            report.outcome = "skipped"  # as pytest reports a failure that was expected
    elif marked and defects.is_listed(marked):
        for report in reports:
            if report.when == "call" and report.passed and defects.measure(marked, device) is False:
                report.wasxfail = defects.not_seen(marked)


def _cause(
    item: pytest.Item, nextitem: pytest.Item | None, reports: Sequence[pytest.TestReport], marked: str | None
) -> str | None:
    """The defect of torch that makes a test fail, or None."""
    from harness import defects

    device = item.config.getoption("--device")
    for name, defect in defects.CORE_DEFECTS.items():
        if defect.repaired is None:
            if name == marked and defects.measure(name, device):
                return name
        elif (
            sum(report.duration for report in reports) <= MAX_SECONDS
            and defects.measure(name, device)
            and _passes(item, nextitem, defect.repaired())
            and not _passes(item, nextitem, nullcontext())
        ):
            return name
    return None


def _passes(item: pytest.Item, nextitem: pytest.Item | None, torch_is: AbstractContextManager[None]) -> bool:
    with torch_is:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    return len(reports) > 1 and all(report.passed for report in reports)


def _seen(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return first_line(crash.message if crash else report.longreprtext) or "a failure without a message"
