"""The pytest plugin of the suites: chooses the tests, and tells the event log what becomes of them."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Generator, Iterable
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path

import pluggy
import pytest
from _pytest._code.code import ExceptionRepr
from _pytest.outcomes import Skipped

from harness.capabilities import CAPABILITIES, docs_page
from harness.device import check_known
from harness.events import EventLog
from harness.options import Options, read_options, wait_for_ids
from harness.outcomes import (
    UNSUPPORTED,
    Differs,
    Unsupported,
    failure_text,
    is_unsupported,
    mark_unsupported,
    outcome_of,
    unsupported_reason,
)
from harness.python_lines import python_lines
from harness.reproduce import arguments_of, command, python
from harness.selection import (
    Described,
    asked_by,
    check_capabilities,
    check_count,
    check_rules,
    check_unknown_ids,
    describe,
    select,
)
from harness.text import capped, first_line, summary

RAN = "ran"
"""The property of a test, and the key of its end, for how its work was done, where a device counts that."""
MEASURED = "measured"
"""The same of what a test measured; no outcome rests on it."""


class Recorder:
    """One session of the suites."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._options: Options | None = None
        self._log = EventLog(None)
        self._stacks: TextIOWrapper | None = None
        self._described: dict[str, Described] | None = None
        self._reports: list[pytest.TestReport] = []
        self._reason: str | None = None

    @property
    def options(self) -> Options:
        """What was requested; read when the session starts."""
        if self._options is None:
            raise RuntimeError("the session has not started")
        return self._options

    def importing(self, test_id: str) -> None:
        """Tell that a file is about to be imported, since that may end or hang the process.

        Args:
            test_id: the test that stands for the import.

        """
        self._log.write("import_start", id=test_id)

    # The checks are made at the start of the session and not when pytest is configured: `pytest --help` needs none.
    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Open the log before torch is imported, since that may end the process."""
        self._log = EventLog(self._config.getoption("--events"))
        if self._config.getoption("--stand-by") is not None:
            self._log.hold()
        self._log.write("session_start", pid=os.getpid())
        try:
            self._options = read_options(self._config)
            if self._options.stacks is not None:
                self._stacks = _dump_stacks_to(self._options.stacks)
            check_known(self._options.device)
        except pytest.UsageError:
            # pytest ends no session that did not start, so the log would lack its end.
            self._end(int(pytest.ExitCode.USAGE_ERROR))
            raise

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Check the rules, choose the tests, and tell which ones will run."""
        tests: list[tuple[pytest.Item, Described]] = []
        problems: list[tuple[str, str]] = []
        for item in items:
            try:
                tests.append((item, describe(item)))
            except ValueError as error:
                problems.append((item.nodeid, str(error)))
                self._log.write("collect_error", id=item.nodeid, message=first_line(str(error)), text=str(error))
        check_rules(problems)
        if self.options.stand_by is not None:
            # Nothing has touched the device yet, so that it belongs to the process that runs tests meanwhile.
            self._options = replace(self.options, ids=wait_for_ids(self.options.stand_by))
        selection = select(tests, self.options)
        if selection.unknown_ids:
            self._log.write("unknown_ids", ids=list(selection.unknown_ids))
        check_unknown_ids(selection)
        check_capabilities(selection, self.options)
        check_count(selection, self.options.min_tests)
        if self.options.ids or self.options.stand_by is None:
            self._log.release()
        self._described = {described.id: described for _, described in tests}
        items[:] = selection.chosen
        if selection.dropped:
            config.hook.pytest_deselected(items=list(selection.dropped))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Tell which tests will run, after every other plugin has had its say.

        pytest calls this also after the selection was refused; then there is nothing to tell.
        """
        if self._described is not None:
            self._log.write_tests("collected", [self._described[item.nodeid].record() for item in session.items])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Tell of a file that cannot be collected."""
        if report.failed:
            text = capped(report.longreprtext)
            self._log.write("collect_error", id=report.nodeid, message=_exception_line(text), text=text)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Tell that a test begins."""
        self._reports = []
        self._reason = None
        self._log.write("test_start", id=nodeid, **self._attempt)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pluggy.Result[pytest.TestReport], None]:
        """Mark what is unsupported, and let every failure end in the command that reproduces it."""
        outcome = yield
        report = outcome.get_result()
        if call.excinfo is not None and self._reason is None:
            value = call.excinfo.value
            self._reason = first_line(str(value.msg)) if isinstance(value, Skipped) else summary(call.excinfo.exconly())
            if isinstance(value, Unsupported):
                mark_unsupported(report, str(value.msg))
        if report.failed:
            _add_ending(report, item, call.excinfo, self.options.device)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what counts: a test may be retried to find out why it fails (``harness/repaired_runs.py``)."""
        self._reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """Tell the outcome of a test."""
        reports = self._reports
        outcome = outcome_of(reports)
        text = "\n\n".join(filter(None, map(failure_text, reports)))
        output = "\n".join(f"--- {title}\n{content}" for title, content in (reports[-1].sections if reports else []))
        properties = {name: value for report in reports for name, value in report.user_properties}
        self._log.write(
            "test_end",
            id=nodeid,
            outcome=outcome,
            **self._attempt,
            duration=round(sum(report.duration for report in reports), 4),
            message=_expectation(reports) or self._reason,
            text=capped(text) if text else None,
            output=capped(output) if output else None,
            **{name: properties[name] for name in (RAN, MEASURED) if name in properties},
        )

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Tell that the session ended in an orderly way."""
        self._end(int(exitstatus))

    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """Show unsupported tests apart from skipped ones."""
        # pytest asks it also of a file that could not be collected, when it lists the errors at the end.
        if isinstance(report, pytest.TestReport) and is_unsupported(report):
            return UNSUPPORTED, "u", "UNSUPPORTED"
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """With ``-ra`` or ``-rs``, give the reasons of unsupported tests, each once, as pytest does of skipped ones."""
        reasons: dict[str | None, list[str]] = {}
        for report in terminalreporter.stats.get(UNSUPPORTED, []) if terminalreporter.hasopt("s") else ():
            reasons.setdefault(unsupported_reason(report), []).append(report.nodeid)
        for reason, tests in reasons.items():
            terminalreporter.line(f"UNSUPPORTED [{len(tests)}] {tests[0]}: {reason}")

    @property
    def _attempt(self) -> dict[str, int]:
        return {"attempt": self.options.attempt} if self.options.attempt > 1 else {}

    def _end(self, exit_status: int) -> None:
        self._log.write("session_end", exit_status=exit_status)
        self._log.close()


def _dump_stacks_to(path: Path) -> TextIOWrapper:
    stream = path.open("a", encoding="utf-8")
    faulthandler.enable(file=stream, all_threads=True)
    faulthandler.register(signal.SIGUSR1, file=stream, all_threads=True)
    return stream


def _add_ending(
    report: pytest.TestReport, item: pytest.Item, raised: pytest.ExceptionInfo[BaseException] | None, device: str
) -> None:
    """End the text of a failure in what was expected, what happened, where to read on, and how to see it again."""
    described = describe(item)
    happened = summary(raised.exconly()) if raised is not None else first_line(report.longreprtext)
    lines = raised.value.lines if raised is not None and isinstance(raised.value, Differs) else ()
    ending = "\n".join(
        [
            f"Expected: {described.title}",
            f"Happened: {happened}",
            *filter(None, [asked_by(item)]),
            *_about(described.capability),
            python(lines or python_lines(item, device)),
            command(arguments_of(item), device),
        ]
    )
    if isinstance(report.longrepr, ExceptionRepr):
        report.longrepr.addsection("about this test", ending, "-")
    else:
        report.longrepr = f"{report.longreprtext.rstrip()}\n\n{ending}"


def _about(capability: str | None) -> tuple[str, ...]:
    if capability is None:
        return ()
    return f"Capability: {capability} ({CAPABILITIES[capability]})", f"Documentation: {docs_page(capability)}"


def _expectation(reports: Iterable[pytest.TestReport]) -> str | None:
    """The text of a test that is unsupported or was expected to fail, which outweighs the exception itself."""
    for report in reports:
        if (reason := unsupported_reason(report)) is not None:
            return first_line(reason)
        if hasattr(report, "wasxfail"):
            return first_line(report.wasxfail)
        if report.failed and isinstance(report.longrepr, str):
            return first_line(report.longrepr)
    return None


def _exception_line(text: str) -> str | None:
    """The exception in pytest's text of a collection error, whose first line is only a path."""
    marked = [line[1:] for line in text.splitlines() if line.startswith("E ")]
    return first_line("\n".join(reversed(marked)) or text)
