"""Reports from elsewhere: a run folder that holds JUnit only, because pytest was run by hand or on another machine, and
a run.json from a vendor's own machine, which becomes the run that tonight's plan expects.

What such a folder does not tell is named as not known, and never made up.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from ootci.errors import ExternalRefused
from ootci.model.build import Build, StageName, StageResult, StageStatus
from ootci.model.device import Device, Suite
from ootci.model.event import Reported, StageEnd
from ootci.model.junit_report import Report, read_reports
from ootci.model.outcome import Outcome
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import parse
from ootci.model.run import ReportState, Run, TakenFrom
from ootci.model.workspace import RunFolder

from .event_log import EventLog

NOT_KNOWN = "not known"
"""Begins the reason of a stage about which the folder holds nothing."""


def reports_by_hand(folder: RunFolder) -> tuple[Path, ...]:
    """The reports of a folder in which no stage of ours ran tests; none where one did."""
    if folder.events.exists() or folder.shards_found():
        return ()
    return tuple(sorted(path for path in folder.path.glob("*.xml") if path != folder.report and path.is_file()))


def unknown_build(planned: PlannedRun) -> Build:
    """The record of fetching and building where there is no build.json."""
    reason = f"{NOT_KNOWN}: there is no build.json"
    stages = (StageName.FETCH, StageName.BUILD)
    return Build(
        run_id=planned.run_id,
        device=planned.device,
        stages=tuple(StageResult(name=name, status=StageStatus.NOT_RUN, reason=reason) for name in stages),
        torch_request=planned.torch,
    )


def log_of_reports(paths: tuple[Path, ...], device: Device) -> EventLog:
    """What reports tell of a device's suites: a file named after a suite of the vendor's is that suite's report."""
    log = EventLog(never_began=f"{NOT_KNOWN}: there is no events.jsonl")
    theirs = {suite.name for suite in device.suites if not suite.is_ours}
    ours = read_reports([path for path in paths if path.stem not in theirs], None)
    for suite in device.suites:
        own = [path for path in paths if path.stem == suite.name]
        report = ours if suite.is_ours else read_reports(own, suite.name)
        _add(log, suite, report, [item for item in report.outcomes if item.suite == suite.name])
    return log


def _add(log: EventLog, suite: Suite, report: Report, outcomes: list[Outcome]) -> None:
    state, reason = report.state, report.detail
    if state is ReportState.COMPLETE and not outcomes:
        state, reason = ReportState.MISSING, "no report in the folder holds a test of this suite"
    failed = sum(item.is_failure for item in outcomes)
    status = StageStatus.FAILED if failed else StageStatus.PASSED if outcomes else StageStatus.NOT_RUN
    log.reports[suite.name] = Reported(suite=suite.name, state=state, detail=reason)
    log.started[suite.name] = None
    log.ended[suite.name] = StageEnd(
        stage=suite.name,
        status=status,
        reason=f"{failed} of {len(outcomes)} tests failed" if failed else reason,
        only_tests=failed > 0,
    )
    for item in outcomes:
        log.tests[item.id] = log.within_room(item)


AHEAD = timedelta(minutes=15)
"""How far another machine's clock may be ahead of ours."""


def reported(device: Device, content: bytes, address: str, now: datetime) -> Run:
    """The report at a device's address.

    Raises:
        ExternalRefused: it is another device's, or its times cannot be.
        StageFileInvalid, StageFileVersion: it is no run.json that can be read.

    """
    run = parse(Run, content, where=address)
    if run.device != device.name:
        what = f"it is a report of `{ascii(run.device[:40])[1:-1]}` and not of `{device.name}`"
        raise ExternalRefused(what, where=address, fix="publish the device's own run.json there")
    if run.finished_at > now + AHEAD or run.started_at > run.finished_at:
        raise ExternalRefused("the report's times cannot be", where=address, fix="set that machine's clock")
    return run


def taken_in(device: Device, plan: Plan, run: Run, before: Run | None, *, now: datetime, attempt: int) -> Run:
    """The run that the plan expects, made of a report from elsewhere.

    Versions, times and outcomes come from the report; device, run and nightly come from the plan. The report is data
    like any other: the judge takes neither known failures nor required test counts from it.

    Args:
        plan: the nightly, which expects the device's report from elsewhere.
        attempt: which attempt of the nightly this is.

    Raises:
        ExternalRefused: it is too old, or was taken before.

    """
    planned = plan.run_of(device.name)
    address = planned.external or ""
    age, limit = now - run.finished_at, device.cadence.stale_after
    if age > limit:
        hours = limit.total_seconds() / 3600
        what = f"the report is {age.total_seconds() / 3600:.0f} hours old, more than {hours:.0f}"
        raise ExternalRefused(what, where=address, fix="see whether the vendor's own nightly still runs")
    if before is not None and (before.started_at, before.finished_at) == (run.started_at, run.finished_at):
        what = f"there is nothing new: the report was imported as {before.id} already"
        raise ExternalRefused(what, where=address, fix="see whether the vendor's own nightly still runs")
    source = TakenFrom(address=address, taken_at=now, run_id=run.id[:200])
    return run.model_copy(
        update={"id": planned.run_id, "plan_id": plan.id, "attempt": attempt, "queued_at": None, "external": source}
    )
