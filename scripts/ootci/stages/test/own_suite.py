"""A suite that the vendor brings: its command is run within the device file's limits, and its JUnit becomes events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from ootci.adapters.process import run
from ootci.model.build import StageStatus
from ootci.model.device import Suite
from ootci.model.event import Collected, CollectedTest, Reported, TestEnd, append_events
from ootci.model.junit_report import Report, read_reports
from ootci.model.outcome import Outcome
from ootci.model.run import ReportState

from .finish import Finish, excerpt_of, status_of, telling_line
from .questions import Questions

MAX_REPORTS = 1_000
BATCH = 5_000
"""Tests whose events are written at once."""


def run_own_suite(
    suite: Suite, command: Sequence[str], asked: Questions, scratch: Path, clock: Callable[[], datetime]
) -> Finish:
    """Run the command of a suite; when the suite's time is up, end it and every process that it started.

    Args:
        asked: where, in which environment, and how to ask whether the device still answers.
        scratch: an empty folder, in which the command runs and writes its report.

    Raises:
        ToolMissing: the command cannot be started.

    """
    log = f"{suite.name}.log"
    done = run(
        command,
        cwd=scratch,
        env=asked.variables,
        log_file=asked.folder.logs / log,
        timeout=asked.device.limits.suite_minutes * 60,
        on_line=asked.progress.update,
    )
    report = _report(suite, scratch)
    _tell(suite.name, report, asked.folder.events, clock())
    status = StageStatus.PASSED if done.ok else status_of(done)
    reasons = [] if done.ok else [f"`{command[0]}` ended: {done.ending}"]
    if status in (StageStatus.CRASHED, StageStatus.TIMED_OUT):
        answer = asked.answer()
        reasons += [f"the device does not answer: {answer}"] if answer is not None else []
    if report.state is not ReportState.COMPLETE:
        reasons.append(report.detail or report.state.value)
        if not done.ok and report.state is ReportState.MISSING:
            reasons.append(telling_line(done))
    elif failed := sum(outcome.is_failure for outcome in report.outcomes):
        text = f"{failed} of {len(report.outcomes)} tests failed"
        if done.ok or status is StageStatus.FAILED:
            return Finish(StageStatus.FAILED, text, None, log, only_tests=True)
        reasons.append(text)
    elif status is StageStatus.FAILED:
        reasons.append("though no test in its report failed")
    if not reasons:
        return Finish(StageStatus.PASSED, log=log)
    return Finish(StageStatus.FAILED if done.ok else status, "; ".join(reasons), excerpt_of(done), log)


def _report(suite: Suite, scratch: Path) -> Report:
    pattern = suite.junit or ""
    place = scratch / pattern
    if place.is_dir():
        paths: Iterable[Path] = place.rglob("*.xml")
    else:
        paths = scratch.glob(pattern) if any(sign in pattern for sign in "*?[") else [place]
    found = sorted(path for path in paths if path.is_file() or path.is_symlink())
    if len(found) > MAX_REPORTS:
        return Report((), ReportState.UNREADABLE, f"report unreadable: `{pattern}` names more than {MAX_REPORTS} files")
    for path in found:
        # A symbolic link could publish a file that the job can read.
        if not path.resolve().is_relative_to(scratch.resolve()) or not path.is_file():
            text = f"report unreadable: {path.name} is no file in the folder of the suite"
            return Report((), ReportState.UNREADABLE, text)
    if not found:
        return Report((), ReportState.MISSING, f"no report was written: there is no `{pattern}`")
    return read_reports(found, suite.name)


def _tell(name: str, report: Report, events: Path, now: datetime) -> None:
    outcomes = report.outcomes
    for begin in range(0, len(outcomes), BATCH):
        some = outcomes[begin : begin + BATCH]
        tests = tuple(CollectedTest(id=outcome.id, suite=name) for outcome in some)
        append_events(events, [Collected(tests=tests), *(end for outcome in some for end in _ends(outcome))], now)
    append_events(events, [Reported(suite=name, state=report.state, detail=report.detail)], now)


def _ends(outcome: Outcome) -> Iterator[TestEnd]:
    yield TestEnd(
        id=outcome.id,
        outcome=outcome.outcome,
        duration=outcome.duration,
        message=outcome.message,
        text=outcome.text,
    )
    for number, later in enumerate(outcome.attempts, start=2):
        yield TestEnd(id=outcome.id, outcome=later.outcome, attempt=number, message=later.message, text=later.text)
