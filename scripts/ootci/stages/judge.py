"""judge: what the runs mean. The one place where a verdict is derived.

Nights are judged in order, each with what was known by then, so that a verdict that was given once stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from ootci.history.compare import changes_between, new_failures
from ootci.history.store import History
from ootci.model.build import StageName, StageResult, StageStatus
from ootci.model.device import Device, RegisteredDevice
from ootci.model.outcome import Counts, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run
from ootci.model.verdict import AS_EXPECTED, BROKEN, DeviceVerdict, Gate, Night, VerdictName, Verdicts

STALE_AFTER = timedelta(hours=36)
"""A nightly device that has not reported for this long has no data, whatever it reported last."""
STRIP_NIGHTS = 90
LOST_TOLERANCE = 0
"""How many fewer executed tests than in the run before are not yet lost tests."""

_REPORT_LOST = (ReportState.MISSING, ReportState.EMPTY, ReportState.UNREADABLE)


def judge(registry: Sequence[RegisteredDevice], history: History, now: datetime) -> Verdicts:
    """Derive every registered device's verdict, the front page's sentence and the gate.

    Args:
        registry: every registered device, in registry order.
        history: past nightlies and runs.
        now: the aware time that staleness is judged against.

    Raises:
        HistoryCorrupt: a record of the history cannot be read back.

    """
    plans = history.plans()
    devices = tuple(_device(item.device, plans, history.runs(item.device.name), now) for item in registry)
    newest = plans[-1] if plans else None
    return Verdicts(
        judged_at=now,
        plan_id=newest.id if newest else None,
        planned_at=newest.created_at if newest else None,
        stale_reason=_stale(newest, now),
        summary=_summary(devices, newest),
        gate=_gate(registry, devices),
        devices=devices,
    )


def _stale(newest: Plan | None, now: datetime) -> str | None:
    if newest is None or now - newest.created_at <= STALE_AFTER:
        return None
    hours = (now - newest.created_at).total_seconds() / 3600
    limit = STALE_AFTER.total_seconds() / 3600
    return f"the newest nightly is {hours:.0f} hours old, more than {limit:.0f}"


class _Judged:
    """One device's verdict on one night."""

    def __init__(self, verdict: VerdictName, reason: str, broke_at: StageName | None = None) -> None:
        self.verdict = verdict
        self.reason = reason
        self.broke_at = broke_at


def _device(device: Device, plans: Sequence[Plan], runs: Sequence[Run], now: datetime) -> DeviceVerdict:
    latest = _latest_attempts(runs)
    nights: list[Night] = []
    judged: _Judged | None = None
    run: Run | None = None
    before: Run | None = None
    for plan in plans:
        if not _concerns(plan, device.name):
            continue
        if run is not None and run.suites and _tested(run):
            before = run
        run = latest.get(plan.id)
        judged = _night(device.name, plan, run, before, ever=any(night.run_id for night in nights))
        nights.append(
            Night(plan_id=plan.id, date=plan.created_at, verdict=judged.verdict, run_id=run.id if run else None)
        )
    judged = _today(device, judged, nights, runs, now)
    row = _row(nights, judged.verdict)
    changes = changes_between(before, run) if run else ()
    return DeviceVerdict(
        device=device.name,
        verdict=judged.verdict,
        reason=judged.reason,
        since=row[0].date if row else None,
        nights=len(row),
        broke_at=judged.broke_at,
        run_id=run.id if run else None,
        reported_at=run.finished_at if run else None,
        torch_request=run.torch_request if run else None,
        torch=run.torch if run else None,
        counts=_counts(run),
        new_failures=new_failures(before, run) if run else 0,
        changes=changes,
        history=tuple(nights[-STRIP_NIGHTS:]),
    )


def _latest_attempts(runs: Sequence[Run]) -> dict[str, Run]:
    latest: dict[str, Run] = {}
    for run in runs:
        if run.plan_id not in latest or run.attempt > latest[run.plan_id].attempt:
            latest[run.plan_id] = run
    return latest


def _concerns(plan: Plan, device: str) -> bool:
    """Whether the nightly expected the device, or left it out because it was paused."""
    return any(run.device == device for run in plan.runs) or any(
        left.device == device and left.paused for left in plan.left_out
    )


def _tested(run: Run) -> bool:
    return any(report.state is ReportState.COMPLETE for report in run.suites)


def _today(
    device: Device, judged: _Judged | None, nights: Sequence[Night], runs: Sequence[Run], now: datetime
) -> _Judged:
    """The newest night's verdict, unless the device is paused now, never ran, or has been silent for too long."""
    if device.paused is not None:
        return _Judged(VerdictName.PAUSED, device.paused.reason)
    if judged is None:
        return _Judged(VerdictName.NEVER_RAN, "registered, but no nightly has run it yet")
    if not runs and judged.verdict is not VerdictName.NEVER_RAN:
        return _Judged(VerdictName.NEVER_RAN, "registered, but no nightly has run it yet")
    silent = now - nights[-1].date
    if silent > STALE_AFTER:
        days = silent.total_seconds() / 86400
        return _Judged(VerdictName.NO_DATA, f"the last nightly that ran it is {days:.1f} days old")
    return judged


def _night(device: str, plan: Plan, run: Run | None, before: Run | None, *, ever: bool) -> _Judged:
    """The verdict on one night, in the order of precedence; ``ever`` says whether the device reported before."""
    paused = next((left for left in plan.left_out if left.device == device), None)
    if paused is not None:
        return _Judged(VerdictName.PAUSED, paused.reason)
    if run is None and not ever:
        return _Judged(VerdictName.NEVER_RAN, "nightlies expect it, but it has never reported")
    if run is None:
        return _Judged(VerdictName.NO_DATA, "the nightly expected a report and got none")
    return (
        _no_data(run)
        or _stage_broken(run)
        or _smoke_broken(run)
        or _regressed(before, run)
        or _lost_tests(before, run)
        or _failing(run)
        or _nothing(run)
        or _Judged(VerdictName.OK, _ok_text(run))
    )


def _required(run: Run) -> list[str]:
    return [report.suite for report in run.suites if report.required]


def _no_data(run: Run) -> _Judged | None:
    for report in run.suites:
        if report.required and report.state is ReportState.NO_TESTS:
            stage = _stage(run, report.suite)
            if stage is None or stage.status is not StageStatus.CRASHED:
                name = stage.name if stage else None
                return _Judged(VerdictName.NO_DATA, f"{report.suite}: zero tests were collected", name)
    return None


def _stage(run: Run, suite: str) -> StageResult | None:
    """A suite's stage. The file comes from a device's job, so it may lack it."""
    return next((stage for stage in run.stages if stage.name.value == suite), None)


_BROKEN_STAGES = (
    (StageName.FETCH, VerdictName.INFRA),
    (StageName.CHECK, VerdictName.INFRA),
    (StageName.BUILD, VerdictName.BUILD_BROKEN),
    (StageName.IMPORT, VerdictName.IMPORT_BROKEN),
)


def _stage_broken(run: Run) -> _Judged | None:
    for name, verdict in _BROKEN_STAGES:
        for stage in run.stages:
            if stage.name is name and stage.status not in (StageStatus.PASSED, StageStatus.NOT_RUN):
                return _Judged(verdict, f"{name.value}: {stage.reason or stage.status.value}", name)
    return None


def _smoke_broken(run: Run) -> _Judged | None:
    if "smoke" not in _required(run):
        return None
    failures = [outcome for outcome in run.outcomes if outcome.suite == "smoke" and outcome.is_failure]
    if failures:
        return _Judged(
            VerdictName.SMOKE_BROKEN,
            f"{_tests(len(failures))} of smoke failed, first {failures[0].id}",
            StageName.SMOKE,
        )
    stage = _stage(run, "smoke")
    broken = stage is not None and stage.status not in (StageStatus.PASSED, StageStatus.NOT_RUN)
    if stage is not None and broken and not _reported(run, "smoke"):
        return _Judged(VerdictName.SMOKE_BROKEN, f"smoke: {stage.reason or stage.status.value}", StageName.SMOKE)
    return None


def _reported(run: Run, suite: str) -> bool:
    """Whether at least one test of the suite has an outcome of its own."""
    return any(item.suite == suite and item.outcome is not OutcomeName.NOT_RUN for item in run.outcomes)


def _regressed(before: Run | None, run: Run) -> _Judged | None:
    count = new_failures(before, run)
    if before is None or count == 0:
        return None
    stage = _first_failing_stage(run)
    return _Judged(VerdictName.REGRESSED, f"{_tests(count)} newly failing since the run before", stage)


def _lost_tests(before: Run | None, run: Run) -> _Judged | None:
    for report in run.suites:
        if not report.required:
            continue
        found = _stage(run, report.suite)
        stage = found.name if found else None
        if report.state in _REPORT_LOST or report.state is ReportState.TRUNCATED:
            return _Judged(VerdictName.LOST_TESTS, f"{report.suite}: {report.detail}", stage)
        if report.counts.total < report.min_tests:
            text = f"{report.suite}: {report.counts.total} tests collected, at least {report.min_tests} expected"
            return _Judged(VerdictName.LOST_TESTS, text, stage)
        if report.state is ReportState.COMPLETE and report.counts.executed == 0:
            text = f"{report.suite}: none of {_tests(report.counts.total)} was executed"
            return _Judged(VerdictName.LOST_TESTS, text, stage)
        had = next((old.counts.executed for old in (before.suites if before else ()) if old.suite == report.suite), 0)
        if report.counts.executed < had - LOST_TOLERANCE:
            text = f"{report.suite}: {report.counts.executed} tests executed, {had} in the run before"
            return _Judged(VerdictName.LOST_TESTS, text, stage)
    return None


def _failing(run: Run) -> _Judged | None:
    required = _required(run)
    failures = [outcome for outcome in run.outcomes if outcome.suite in required and outcome.is_failure]
    if failures:
        text = f"{_tests(len(failures))} failing, first {failures[0].id}"
        return _Judged(VerdictName.FAILING, text, _first_failing_stage(run))
    for stage in run.stages:
        if stage.name.value in required and stage.status is not StageStatus.PASSED:
            return _Judged(VerdictName.FAILING, f"{stage.name.value}: {stage.reason or stage.status.value}", stage.name)
    return None


def _nothing(run: Run) -> _Judged | None:
    """Silence is never success: without an executed test of a required suite there is nothing to be content with."""
    if _counts(run).executed:
        return None
    return _Judged(VerdictName.NO_DATA, "no test of a required suite was executed")


def _first_failing_stage(run: Run) -> StageName | None:
    required = _required(run)
    for stage in run.stages:
        if stage.name.value in required and stage.status is not StageStatus.PASSED:
            return stage.name
    return None


def _ok_text(run: Run) -> str:
    counts = _counts(run)
    expected = f", {counts.xfailed} failed as expected" if counts.xfailed else ""
    return f"{counts.passed} of {counts.executed} executed tests passed{expected}"


def _counts(run: Run | None) -> Counts:
    if run is None:
        return Counts()
    required = _required(run)
    return Counts.of(outcome for outcome in run.outcomes if outcome.suite in required)


def _tests(count: int) -> str:
    return f"{count} test" if count == 1 else f"{count} tests"


def _devices(count: int) -> str:
    return f"{count} device" if count == 1 else f"{count} devices"


def _row(nights: Sequence[Night], verdict: VerdictName) -> list[Night]:
    """The unbroken row of newest nights with the verdict."""
    row: list[Night] = []
    for night in reversed(nights):
        if night.verdict is not verdict:
            break
        row.insert(0, night)
    return row


def _summary(devices: Sequence[DeviceVerdict], newest: Plan | None) -> str:
    """The one sentence of the front page."""
    if newest is None:
        return f"No nightly has run yet; {_devices(len(devices))} registered."
    active = [item for item in devices if item.verdict is not VerdictName.PAUSED]
    good = sum(item.verdict in AS_EXPECTED for item in active)
    parts = [f"Nightly {newest.id}: {good} of {_devices(len(active))} as expected"]
    newly = sum(item.verdict in BROKEN and item.nights == 1 for item in active)
    if newly:
        parts.append(f"{newly} newly broken")
    for verdict, text in (
        (VerdictName.NO_DATA, "silent"),
        (VerdictName.INFRA, "without working infrastructure"),
        (VerdictName.NEVER_RAN, "never ran"),
    ):
        count = sum(item.verdict is verdict for item in active)
        if count:
            parts.append(f"{count} {text}")
    paused = len(devices) - len(active)
    if paused:
        parts.append(f"{paused} paused")
    return " · ".join(parts) + "."


def _nightly_name(devices: Sequence[DeviceVerdict], newest: Plan) -> str:
    """The torch that the nightly tested, with its commit, where all devices tested the same; always the date."""
    run_ids = {run.run_id for run in newest.runs}
    builds = {
        f"{item.torch.version} ({(item.torch.git_version or 'unknown')[:7]})"
        for item in devices
        if item.run_id in run_ids and item.torch is not None
    }
    date = f"{newest.created_at:%Y-%m-%d}"
    if len(builds) == 1:
        return f"{date} on torch {builds.pop()}"
    return f"{date} on {len(builds)} builds of torch" if builds else date


def _devices(count: int) -> str:
    return f"{count} device" if count == 1 else f"{count} devices"


def _gate(registry: Sequence[RegisteredDevice], devices: Sequence[DeviceVerdict]) -> Gate:
    """Fails closed: whatever is not as expected on a gating device blocks, silence included."""
    gating = {item.device.name for item in registry if item.device.gates and item.device.paused is None}
    blocking = tuple(item for item in devices if item.device in gating and item.verdict not in AS_EXPECTED)
    if not gating:
        return Gate(may_merge=False, reason="no gating device is registered, so nothing speaks for merging")
    noun = "device" if len(gating) == 1 else "devices"
    if not blocking:
        return Gate(may_merge=True, reason=f"{len(gating)} of {len(gating)} gating {noun} as expected")
    names = ", ".join(f"{item.device} ({item.verdict.value})" for item in blocking)
    return Gate(
        may_merge=False,
        blocking=tuple(item.device for item in blocking),
        reason=f"{len(blocking)} of {len(gating)} gating {noun} not as expected: {names}",
    )
