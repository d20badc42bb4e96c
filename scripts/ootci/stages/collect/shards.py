"""What the shares of a run left behind, put together as if it had been one; a share that is silent is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ootci.model.build import StageName, StageStatus
from ootci.model.event import StageEnd
from ootci.model.ids import short_id
from ootci.model.outcome import Outcome
from ootci.model.run import ReportState
from ootci.model.workspace import RunFolder, Shard

from .event_log import EventLog
from .junit import Report, read_junit

_BEFORE = (StageName.IMPORT, StageName.CHECK)
_WORST = (StageStatus.PASSED, StageStatus.NOT_RUN, StageStatus.FAILED, StageStatus.TIMED_OUT, StageStatus.CRASHED)


@dataclass(frozen=True)
class Reported:
    """What was reported of a run: its event log, its report, and where its environment is described."""

    log: EventLog
    report: Report
    env: Path


def reported(folder: RunFolder) -> Reported:
    """What a run folder holds, whether its tests were run at once or in shares."""
    found = folder.shards_found()
    if not found:
        return Reported(EventLog.read(folder.events), read_junit(folder.junit), folder.env)
    count = found[-1].count
    shards = [Shard(index, count) for index in range(1, count + 1)]
    present = [shard for shard in shards if folder.shard(shard).events.exists()]
    logs = {shard: EventLog.read(folder.shard(shard).events) for shard in present}
    log = _joined(logs, [shard for shard in shards if shard not in logs])
    reports = {shard: read_junit(folder.shard(shard).junit) for shard in shards}
    env = folder.shard(present[0] if present else shards[0]).env
    return Reported(log, _report(reports, {test_id: place for place, test_id in enumerate(log.collected)}), env)


def _joined(logs: Mapping[Shard, EventLog], silent: list[Shard]) -> EventLog:
    joined = EventLog()
    for log in logs.values():
        joined.collected.update({key: test for key, test in log.collected.items() if key not in joined.collected})
        joined.ends.update(log.ends)
        joined.attempts.update(log.attempts)
        joined.facts.update(log.facts)
        joined.add_operators(log.operators)
    for name in StageName:
        if not any(name in log.started for log in logs.values()):
            continue
        starts = [time for log in logs.values() if (time := log.started.get(name)) is not None]
        joined.started[name] = min(starts, default=None)
        ends = {shard: log.ended.get(name) for shard, log in logs.items()}
        # The card of a share that never reported may be well: nothing is known of its import and its check.
        missing = [shard for shard, end in ends.items() if end is None] + ([] if name in _BEFORE else silent)
        joined.ended[name] = _end(name, {shard: end for shard, end in ends.items() if end is not None}, missing)
    return joined


def _end(name: StageName, ends: Mapping[Shard, StageEnd], missing: list[Shard]) -> StageEnd:
    bad = {shard: end for shard, end in ends.items() if end.status is not StageStatus.PASSED}
    said = [f"{shard}: {end.reason or end.status.value}" for shard, end in bad.items()]
    said += [f"{shard} never reported" for shard in missing]
    worst = max(bad.values(), key=lambda end: _WORST.index(end.status), default=None)
    status = StageStatus.CRASHED if missing else worst.status if worst else StageStatus.PASSED
    return StageEnd(
        stage=name,
        status=status,
        duration=max((end.duration for end in ends.values()), default=0.0),
        reason="; ".join(said) or None,
        excerpt=worst.excerpt if worst else None,
        log=worst.log if worst else next((end.log for end in ends.values()), None),
        only_tests=not missing and bool(bad) and all(end.only_tests for end in bad.values()),
    )


def _report(reports: Mapping[Shard, Report], places: Mapping[str, int]) -> Report:
    """All outcomes, in the order in which the tests were collected. Of a test in two shares a failure stays."""
    found: dict[str, Outcome] = {}
    for report in reports.values():
        for outcome in report.outcomes:
            if outcome.id not in found or not found[outcome.id].is_failure:
                found[outcome.id] = outcome
    by_id = {short_id(test_id): place for test_id, place in places.items()}
    outcomes = tuple(sorted(found.values(), key=lambda outcome: by_id.get(outcome.id, len(by_id))))
    for shard, report in reports.items():
        if report.state is ReportState.MISSING:
            return Report(outcomes, ReportState.TRUNCATED, f"{shard} never reported")
        if report.state not in (ReportState.COMPLETE, ReportState.NO_TESTS):
            return Report(outcomes, ReportState.TRUNCATED, f"{shard}: {report.detail}")
    return Report(outcomes, ReportState.COMPLETE if outcomes else ReportState.NO_TESTS)
