"""JUnit of a run, for other tools: report.xml of the whole run, and a report of each suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ootci.model.build import StageStatus
from ootci.model.excerpt import excerpt
from ootci.model.junit import OtherCase, write_report
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.run import ReportState, Run, SuiteReport
from ootci.model.workspace import RunFolder

MAX_TEXTS = 16 * 1024 * 1024
"""Characters of all failures' texts together; once they are used up, the remaining texts are shortened."""
SHORT_TEXT = 400
STAGES = "stages"
"""The test suite in which a reader finds what went wrong besides tests."""
_SAID = (ReportState.COMPLETE, ReportState.NOT_EXPECTED)


def write_reports(run: Run, folder: RunFolder, outputs: Mapping[str, str]) -> None:
    """Write report.xml, and of each suite that was to report a report that also holds what the tests printed."""
    write_run_report(run, folder.report)
    trouble = {case.name: case for case in _reports(run)}
    for suite in run.suites:
        cases: list[Outcome | OtherCase] = [item for item in run.outcomes if item.suite == suite.suite]
        cases += [case for name, case in trouble.items() if name == _report_of(suite)]
        target = folder.suite_report(suite.suite)
        if suite.state is ReportState.NOT_EXPECTED:
            target.unlink(missing_ok=True)
        else:
            write_report(target, {suite.suite: cases}, outputs)


def write_run_report(run: Run, target: Path) -> None:
    """Write every outcome of a run, including tests that never reported.

    A stage that did not pass, other than by failing tests, and a suite whose report is not whole are errors of their
    own: a reader that counts failures must not take a run without tests for a good one.
    """
    suites: dict[str, list[Outcome | OtherCase]] = {}
    room = MAX_TEXTS
    for outcome in run.outcomes:
        room -= len(outcome.text or "")
        suites.setdefault(outcome.suite, []).append(outcome if room >= 0 else _shortened(outcome))
    if trouble := [*_stages(run), *_reports(run)]:
        suites = {STAGES: [*suites.pop(STAGES, []), *trouble], **suites}
    write_report(target, suites)


def _shortened(outcome: Outcome) -> Outcome:
    return outcome.model_copy(update={"text": excerpt(outcome.text, SHORT_TEXT)})


def _stages(run: Run) -> Iterator[OtherCase]:
    for stage in run.stages:
        if stage.status is StageStatus.PASSED or (stage.status is StageStatus.FAILED and stage.only_tests):
            continue
        was_run = stage.status is not StageStatus.NOT_RUN
        outcome, text = (OutcomeName.ERROR, stage.excerpt) if was_run else (OutcomeName.SKIPPED, None)
        status = stage.status.value
        yield OtherCase(stage.name, STAGES, stage.duration, outcome, stage.reason or status, status, text)


def _reports(run: Run) -> Iterator[OtherCase]:
    for suite in run.suites:
        if suite.state not in _SAID:
            state = suite.state.value
            yield OtherCase(_report_of(suite), STAGES, 0.0, OutcomeName.ERROR, suite.detail or state, state)


def _report_of(suite: SuiteReport) -> str:
    return f"report of {suite.suite}"
