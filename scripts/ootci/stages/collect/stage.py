"""Makes run.json from the files of the stages before.

Where a report cannot be used or did not come, a run is made in its place, because nothing would look like silence. It
is the same however often it is made.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from ootci import __version__
from ootci.errors import StageFileInvalid
from ootci.model.build import NOTHING_COLLECTED, Build, StageName, StageResult, StageStatus
from ootci.model.device import OURS, Device, Suite
from ootci.model.excerpt import one_line
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import Plan, PlannedRun
from ootci.model.probe import Probe, read_probe
from ootci.model.record import read, write
from ootci.model.run import CapabilityCounts, Environment, Links, ReportState, Run, SuiteReport
from ootci.model.torch_build import TorchRequest, full_commit
from ootci.model.workspace import RunFolder, Shard

from .elsewhere import log_of_reports, reports_by_hand, unknown_build
from .event_log import MAX_REASON, MAX_TESTS, EventLog
from .report import write_reports
from .shards import joined_log, log_of_share


def collect(
    device: Device,
    plan: Plan,
    folder: RunFolder,
    *,
    now: datetime,
    attempt: int = 1,
    url: str | None = None,
    variables: Mapping[str, str] = os.environ,
) -> Run:
    """Write run.json, and JUnit for other tools, from the files of the stages before.

    Args:
        now: when the run counts as finished if no stage has a time.
        url: page of the workflow run in which the device was tested; None where that is the plan's, or there is none.
        variables: environment variables of the job, which say where it runs.

    Raises:
        NoSuchDevice: the plan has no run for the device.
        StageFileMissing, StageFileInvalid, StageFileVersion: build.json is not there, not valid, or of another plan.

    """
    planned = plan.run_of(device.name)
    by_hand = reports_by_hand(folder)
    build = unknown_build(planned) if by_hand and not folder.build.exists() else _build_of(planned, folder)
    log, env = (log_of_reports(by_hand, device), folder.env) if by_hand else joined_log(folder)
    # Reports made by hand may be from another machine, which the variables of this job do not describe.
    here: Mapping[str, str] = {} if by_hand else variables
    place = environment(read_probe(env), build, log.facts, here, here=not folder.shards_found())
    run = _run(device, plan, folder, build, log, place, now=now, attempt=attempt, url=url)
    outputs = log.outputs
    del log  # what it has besides is not needed while a hundred thousand tests are written
    write(run, folder.run)
    write_reports(run, folder, outputs)
    return run


def collect_share(
    device: Device, plan: Plan, folder: RunFolder, shard: Shard, *, now: datetime, attempt: int
) -> tuple[Plan, Run]:
    """The run as one share knows it, and the plan with the suites that the share runs; writes nothing.

    The tests of other shares count as passed: each share answers for its own.

    Raises:
        NoSuchDevice, StageFileMissing, StageFileInvalid, StageFileVersion: as of `collect`.

    """
    planned = plan.run_of(device.name)
    build, log = _build_of(planned, folder), log_of_share(folder, shard)
    # The first share runs the suites that the vendor brings.
    suites = tuple(suite for suite in planned.suites if suite.name in OURS or shard.index == 1)
    asked = plan.model_copy(update={"runs": (planned.model_copy(update={"suites": suites}),), "also": ()})
    names = {suite.name for suite in suites}
    device = device.model_copy(update={"suites": tuple(suite for suite in device.suites if suite.name in names)})
    return asked, _run(device, plan, folder, build, log, Environment(), now=now, attempt=attempt, url=None)


def _run(
    device: Device,
    plan: Plan,
    folder: RunFolder,
    build: Build,
    log: EventLog,
    place: Environment,
    *,
    now: datetime,
    attempt: int,
    url: str | None,
) -> Run:
    planned = plan.run_of(device.name)
    stages = _stages(build, log, device)
    outcomes = log.outcomes()
    started, finished = _span(stages, now)
    return Run(
        id=planned.run_id,
        plan_id=plan.id,
        device=device.name,
        attempt=attempt,
        queued_at=queued_at(plan, attempt, started),
        started_at=started,
        finished_at=finished,
        torch_request=without_paths(planned.torch),
        torch=planned.torch.told(build.torch),
        plugin=build.plugin,
        environment=place,
        stages=stages,
        suites=_suites(device, stages, log, outcomes),
        capabilities=CapabilityCounts.of(outcomes),
        outcomes=outcomes,
        operators=log.operator_counts(),
        passing_declarations=log.passing_declarations(),
        url=url or plan.trigger.url,
        links=links(device, build, stages, folder),
    )


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


def _stages(build: Build, log: EventLog, device: Device) -> tuple[StageResult, ...]:
    names = [StageName.IMPORT, StageName.CHECK, *(suite.name for suite in device.suites)]
    return (*build.stages, *(log.stage(name) for name in names))


def _suites(
    device: Device, stages: tuple[StageResult, ...], log: EventLog, outcomes: tuple[Outcome, ...]
) -> tuple[SuiteReport, ...]:
    by_name = {stage.name: stage for stage in stages}
    reports = []
    for suite in device.suites:
        mine = [outcome for outcome in outcomes if outcome.suite == suite.name]
        state, detail = _state(suite, by_name[suite.name], log, mine)
        reports.append(
            SuiteReport(
                suite=suite.name,
                required=suite.required,
                min_tests=suite.min_tests,
                state=state,
                detail=detail[:MAX_REASON] if detail else None,
                counts=Counts.of(mine),
            )
        )
    return tuple(reports)


def _state(suite: Suite, stage: StageResult, log: EventLog, outcomes: list[Outcome]) -> tuple[ReportState, str | None]:
    """The state of a suite's report."""
    told = log.reports.get(suite.name)
    if told is not None and told.state is not ReportState.COMPLETE:
        return told.state, told.detail
    if stage.status is StageStatus.NOT_RUN and not outcomes:
        return ReportState.NOT_EXPECTED, stage.reason
    if told is None and not suite.is_ours:
        return ReportState.MISSING, f"no report was written: {stage.reason or stage.status.value}"
    if not outcomes:
        return ReportState.NO_TESTS, stage.reason or NOTHING_COLLECTED
    if log.is_full:
        return ReportState.TRUNCATED, f"the log tells of more than {MAX_TESTS} tests; those after them were not read"
    missing = sum(item.outcome is OutcomeName.NOT_RUN for item in outcomes)
    if missing:
        return ReportState.TRUNCATED, f"{missing} of {len(outcomes)} collected tests never reported"
    if suite.name not in log.ended:
        return ReportState.TRUNCATED, stage.reason
    return ReportState.COMPLETE, None


IMAGE = "OOTCI_IMAGE"
"""The variable in which a workflow names the image of its job."""
MAX_FACTS = 50
MAX_FACT = 200


def environment(
    probe: Probe, build: Build, checked: Mapping[str, str], variables: Mapping[str, str], *, here: bool = True
) -> Environment:
    """The machine of the run, with facts from its check command; shares may come from other machines than ``here``."""
    properties = {f"card.{name}": value for name, value in probe.device.card.items()}
    lacks = {"lacks": ", ".join(probe.device.lacks)} if probe.device.lacks else {}
    missing = ", ".join(f"torch.{probe.device.name}.{function}" for function in probe.device.missing_functions)
    functions = {"missing functions": missing} if missing else {}
    facts = list({**checked, **lacks, **functions, **properties}.items())[:MAX_FACTS]
    return Environment(
        python=probe.python.version or build.python_version,
        os=probe.os.platform,
        glibc=probe.os.glibc,
        machine=probe.os.machine,
        cpus=probe.os.cpus,
        compiler=build.compiler,
        built_on=(build.built_on or "")[:MAX_FACT] or None,
        runner=variables.get("RUNNER_NAME") if here else None,
        devices=probe.device.count,
        image=variables.get(IMAGE, "")[: 2 * MAX_FACT] or None,
        device_facts={name[:MAX_FACT]: value[:MAX_FACT] for name, value in facts},
        ootci=__version__,
    )


def queued_at(plan: Plan, attempt: int, started: datetime) -> datetime | None:
    """When the run began to wait: when the plan was made, which is the last that GitHub tells a job of without being
    asked. None for a later attempt, and when two clocks disagree.
    """
    return plan.created_at if attempt == 1 and plan.created_at <= started else None


def without_paths(torch: TorchRequest) -> TorchRequest:
    """The requested torch, without the folder of its wheel on this machine."""
    return torch.model_copy(update={"wheel": Path(torch.wheel).name if torch.wheel else None})


def links(device: Device, build: Build, stages: Sequence[StageResult], folder: RunFolder) -> Links:
    """Where more is to be found about a run."""
    failed = (stage.log for stage in stages if stage.status is not StageStatus.PASSED and stage.log)
    return Links(plugin_commit=_commit_page(device, build), report=folder.report.name, log=next(failed, None))


def _commit_page(device: Device, build: Build) -> str | None:
    """GitHub, GitLab, Gitee and Gitea have a commit's page at ``<repository>/commit/<hash>``."""
    source = device.plugin.git
    commit = full_commit(build.plugin.commit) if build.plugin else None
    if source is None or commit is None or not re.match("https?://", source.url):
        return None
    return f"{source.url.rstrip('/').removesuffix('.git')}/commit/{commit}"


def unreadable(plan: Plan, planned: PlannedRun, attempt: int, why: str) -> Run:
    """The run of a device whose report was refused, and why, which may quote the report."""
    return _made(plan, planned, attempt, ReportState.UNREADABLE, one_line(f"report unreadable: {why}"))


def not_started(plan: Plan, planned: PlannedRun, attempt: int, why: str) -> Run:
    """The run of a device whose job was never started, or that no runner took."""
    check = StageResult(name=StageName.CHECK, status=StageStatus.FAILED, reason=why)
    return _made(plan, planned, attempt, ReportState.NOT_EXPECTED, why, stages=(check,))


def _made(
    plan: Plan,
    planned: PlannedRun,
    attempt: int,
    state: ReportState,
    detail: str | None,
    stages: tuple[StageResult, ...] = (),
) -> Run:
    suites = (
        SuiteReport(suite=suite.name, required=suite.required, min_tests=suite.min_tests, state=state, detail=detail)
        for suite in planned.suites
    )
    return Run(
        id=planned.run_id,
        plan_id=plan.id,
        device=planned.device,
        attempt=attempt,
        started_at=plan.created_at,
        finished_at=plan.created_at,
        torch_request=without_paths(planned.torch),
        stages=stages,
        suites=tuple(suites),
        url=plan.trigger.url,
    )
