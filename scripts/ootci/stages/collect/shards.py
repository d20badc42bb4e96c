"""Joins the event logs of a run's shares into one; a share without a log is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ootci.model.build import StageName, StageStatus
from ootci.model.device import OURS
from ootci.model.event import Reported, Sharded, StageEnd, read_events
from ootci.model.outcome import OutcomeName
from ootci.model.run import ReportState
from ootci.model.workspace import RunFolder, Shard

from .event_log import EventLog, test_id_of

_WORST = (StageStatus.PASSED, StageStatus.NOT_RUN, StageStatus.FAILED, StageStatus.TIMED_OUT, StageStatus.CRASHED)


def joined_log(folder: RunFolder) -> tuple[EventLog, Path]:
    """The event log of a run, whether its tests were run at once or in shares, and where its env.json lies."""
    found = folder.shards_found()
    if not found:
        return EventLog().add(folder.events), folder.env
    count = found[-1].count
    shards = [Shard(index, count) for index in range(1, count + 1)]
    paths = {shard: path for shard in shards if (path := folder.shard(shard).events).exists()}
    first = next(iter(paths), shards[0])
    return _joined(paths, [shard for shard in shards if shard not in paths]), folder.shard(first).env


def log_of_share(folder: RunFolder, shard: Shard) -> EventLog:
    """The event log of one share of a run, as if every test of the other shares had passed."""
    path = folder.shard(shard).events
    log = EventLog().add(path)
    told = [event for event in read_events(path) if isinstance(event, Sharded)]
    of_share = [
        test for event in told if (event.index, event.count) == (shard.index, shard.count) for test in event.tests
    ]
    # The workers of a share divide it again, maybe by the same numbers: what is the share's stays the share's.
    mine = {test.id for test in of_share if test.shard == shard.index}
    for test in of_share:
        item = log.tests.get(test_id_of(test.id))
        if test.id not in mine and item is not None and item.outcome is OutcomeName.NOT_RUN:
            log.tests[item.id] = replace(item, outcome=OutcomeName.PASSED, message=None)
    return log


def _joined(paths: Mapping[Shard, Path], silent: list[Shard]) -> EventLog:
    joined = EventLog()
    started: dict[Shard, dict[str, datetime | None]] = {}
    ended: dict[Shard, dict[str, StageEnd]] = {}
    for shard, path in paths.items():
        joined.add(path)
        # Every share has times of its own for the same stages.
        started[shard], ended[shard] = joined.started, joined.ended
        joined.started, joined.ended = {}, {}
    for name in dict.fromkeys(name for found in started.values() for name in found):
        starts = [time for found in started.values() if (time := found.get(name)) is not None]
        joined.started[name] = min(starts, default=None)
        # A suite that the vendor brings is run by one share.
        ends = {shard: ended[shard].get(name) for shard in paths if name in {*StageName} or name in started[shard]}
        # The card of a share that never reported may be well: nothing is known of its import and its check.
        lost = silent if name in OURS else []
        missing = [*(shard for shard, end in ends.items() if end is None), *lost]
        joined.ended[name] = _end(name, {shard: end for shard, end in ends.items() if end is not None}, missing)
        if missing and name in OURS:
            detail = f"{missing[0]} never reported"
            joined.reports[name] = Reported(suite=name, state=ReportState.TRUNCATED, detail=detail)
    return joined


def _end(name: str, ends: Mapping[Shard, StageEnd], missing: list[Shard]) -> StageEnd:
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
