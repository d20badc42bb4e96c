"""Putting together run.json from whatever the stages before left behind."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from ootci.errors import StageFileInvalid
from ootci.model.build import Build, StageName, StageResult, StageStatus
from ootci.model.device import Device
from ootci.model.event import TestEnd
from ootci.model.ids import short_id
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import Plan, PlannedRun
from ootci.model.probe import read_probe
from ootci.model.record import read, write
from ootci.model.run import CapabilityCounts, ReportState, Run, SuiteReport
from ootci.model.torch_build import TorchRequest
from ootci.model.workspace import RunFolder

from .case import MAX_MESSAGE, MAX_NAME
from .event_log import EventLog
from .excerpt import excerpt
from .junit import Report
from .place import environment, links, queued_at
from .report import write_run_report
from .shards import reported


def collect(
    device: Device,
    plan: Plan,
    folder: RunFolder,
    *,
    now: datetime,
    attempt: int = 1,
    variables: Mapping[str, str] = os.environ,
) -> Run:
    """Write run.json, and report.xml for other tools, from whatever the stages before left behind.

    Args:
        device: the device.
        plan: the nightly's plan.
        folder: the run's folder.
        now: when the run counts as finished if no stage says so.
        attempt: number of the attempt.
        variables: environment variables of the job, which say where it runs.

    Raises:
        NoSuchDevice: the plan has no run for the device.
        StageFileMissing, StageFileInvalid, StageFileVersion: build.json is not there, not valid, or of another plan.

    """
    planned = plan.run_of(device.name)
    build = _build_of(planned, folder)
    found = reported(folder)
    log, report = found.log, found.report
    stages = _stages(build, log, device)
    outcomes = _with_attempts(_with_missing(report.outcomes, log), log)
    started, finished = _span(stages, now)
    run = Run(
        id=planned.run_id,
        plan_id=plan.id,
        device=device.name,
        attempt=attempt,
        queued_at=queued_at(plan, attempt, started),
        started_at=started,
        finished_at=finished,
        torch_request=_without_paths(planned),
        torch=build.torch,
        plugin=build.plugin,
        environment=environment(read_probe(found.env), build, log.facts, variables, here=not folder.shards_found()),
        stages=stages,
        suites=_suites(device, stages, report, outcomes, {test.suite for test in log.collected.values()}),
        capabilities=CapabilityCounts.of(outcomes),
        outcomes=outcomes,
        operators=log.operator_counts(),
        url=plan.trigger.url,
        links=links(device, build, stages, folder),
    )
    write(run, folder.run)
    write_run_report(run, folder.report)
    return run


def _build_of(planned: PlannedRun, folder: RunFolder) -> Build:
    build = read(Build, folder.build)
    if build.run_id != planned.run_id:
        raise StageFileInvalid(
            f"build.json is of the run {build.run_id}, but the plan expects {planned.run_id}",
            where=str(folder.build),
            fix="run `ootci build` and `ootci test` for this plan first",
        )
    return build


def _span(stages: tuple[StageResult, ...], now: datetime) -> tuple[datetime, datetime]:
    """When the first stage began and the last one ended; now, where none did."""
    begun = [(stage.started_at, timedelta(seconds=stage.duration)) for stage in stages if stage.started_at]
    return min((begin for begin, _ in begun), default=now), max((begin + took for begin, took in begun), default=now)


def _without_paths(planned: PlannedRun) -> TorchRequest:
    wheel = planned.torch.wheel
    return planned.torch.model_copy(update={"wheel": Path(wheel).name if wheel else None})


def _stages(build: Build, log: EventLog, device: Device) -> tuple[StageResult, ...]:
    names = [StageName.IMPORT, StageName.CHECK, *(StageName(suite.name) for suite in device.suites)]
    return (*build.stages, *(log.stage(name) for name in names))


def _with_missing(reported: tuple[Outcome, ...], log: EventLog) -> tuple[Outcome, ...]:
    """What was reported, and every test that was collected and is not in the report.

    A job that was ended from outside leaves outcomes in the event log that no report holds; a test without any outcome
    is `not_run`.
    """
    if not log.collected:
        return reported
    known = {outcome.id for outcome in reported}
    missing = []
    for test in log.collected.values():
        if short_id(test.id) in known:
            continue
        end = log.ends.get(test.id) or TestEnd(
            id=test.id, outcome=OutcomeName.NOT_RUN, message="collected, but never reported"
        )
        missing.append(
            Outcome(
                id=short_id(test.id),
                suite=(test.suite or "unknown")[:MAX_NAME],
                outcome=end.outcome,
                capability=test.capability[:MAX_NAME] if test.capability else None,
                title=test.title[:MAX_MESSAGE] if test.title else None,
                duration=round(end.duration, 3),
                message=end.message[:MAX_MESSAGE] if end.message else None,
                text=excerpt(end.text),
                ran=end.ran,
            )
        )
    return (*reported, *missing)


def _with_attempts(outcomes: tuple[Outcome, ...], log: EventLog) -> tuple[Outcome, ...]:
    """The outcomes, with the later attempts of those that failed at first."""
    if not log.attempts:
        return outcomes
    later = {short_id(test_id): tuple(attempts) for test_id, attempts in log.attempts.items()}
    return tuple(
        item.model_copy(update={"attempts": later[item.id]}) if item.is_failure and item.id in later else item
        for item in outcomes
    )


def _suites(
    device: Device,
    stages: tuple[StageResult, ...],
    report: Report,
    outcomes: tuple[Outcome, ...],
    collected: set[str | None],
) -> tuple[SuiteReport, ...]:
    by_name = {stage.name.value: stage for stage in stages}
    reports = []
    for suite in device.suites:
        mine = [outcome for outcome in outcomes if outcome.suite == suite.name]
        state, detail = _state(by_name[suite.name], report, mine, suite.name in collected)
        reports.append(
            SuiteReport(
                suite=suite.name,
                required=suite.required,
                min_tests=suite.min_tests,
                state=state,
                detail=detail,
                counts=Counts.of(mine),
            )
        )
    return tuple(reports)


def _state(
    stage: StageResult, report: Report, outcomes: list[Outcome], collected: bool
) -> tuple[ReportState, str | None]:
    """What became of a suite's report; ``collected`` says whether it is known which tests it should hold."""
    if stage.status is StageStatus.NOT_RUN:
        return ReportState.NOT_EXPECTED, stage.reason
    if report.state not in (ReportState.COMPLETE, ReportState.NO_TESTS):
        cut = report.state is ReportState.TRUNCATED and collected
        if not (cut and outcomes and all(item.outcome is not OutcomeName.NOT_RUN for item in outcomes)):
            return report.state, report.detail
    if not outcomes:
        return ReportState.NO_TESTS, stage.reason or "no tests were collected"
    missing = sum(item.outcome is OutcomeName.NOT_RUN for item in outcomes)
    if missing:
        return ReportState.TRUNCATED, f"{missing} of {len(outcomes)} collected tests never reported"
    return ReportState.COMPLETE, None
