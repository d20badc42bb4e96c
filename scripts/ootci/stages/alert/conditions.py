"""Which conditions the verdicts show, hide or leave open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from ootci.model.alert import MAIN, NIGHTLY, Alert, Condition, Remembered, Standing
from ootci.model.cluster import CHANCE, EXCUSED, Cause, Cluster
from ootci.model.verdict import BROKEN, FAILING, DeviceVerdict, Night, VerdictName, Verdicts

PATIENCE: Mapping[VerdictName, int] = MappingProxyType({VerdictName.INFRA: 2, VerdictName.NEVER_RAN: 3})
"""Nights in a row after which a verdict gets an issue; one for all others. A machine may be offline for a night, and a
new device needs time for its first report."""

_UNSEEN = frozenset({VerdictName.PAUSED, VerdictName.NEVER_RAN, VerdictName.NO_DATA})
_SHOWN_BY: Mapping[Condition, frozenset[VerdictName]] = MappingProxyType(
    {
        Condition.BROKEN: BROKEN,
        Condition.INFRASTRUCTURE: frozenset({VerdictName.INFRA}),
        Condition.SILENT: frozenset({VerdictName.NO_DATA, VerdictName.NEVER_RAN}),
    }
)
_DISPROVED_BY: Mapping[Condition, frozenset[VerdictName]] = MappingProxyType(
    {
        Condition.BROKEN: frozenset({VerdictName.OK, VerdictName.KNOWN, VerdictName.UNSTABLE}),
        Condition.INFRASTRUCTURE: frozenset(VerdictName) - _UNSEEN - {VerdictName.INFRA},
        Condition.SILENT: frozenset(VerdictName) - _UNSEEN,
    }
)
"""Other verdicts decide nothing: a device that does not report may still be broken."""

_TESTS_RAN = (
    frozenset(VerdictName)
    - _UNSEEN
    - {VerdictName.INFRA, VerdictName.BUILD_BROKEN, VerdictName.IMPORT_BROKEN, VerdictName.LOST_TESTS}
)
NAMED = 20
"""Tests by which the failures of an issue are recognised."""


def conditions(verdicts: Verdicts, remembered: Sequence[Remembered] = ()) -> tuple[Alert, ...]:
    """Every condition of every subject, in the order in which issues are opened.

    Includes conditions that only existing issues remember. While nightlies do not run, all other conditions are
    unknown, so that no device is blamed for it.
    """
    stale = _stale(verdicts, remembered)
    # Of several with one key the open one counts, as in ``decide``.
    told: dict[str, Remembered] = {}
    for item in sorted(remembered, key=lambda item: item.closed):
        if item.condition is Condition.UPSTREAM:
            told.setdefault(item.key, item)
    events = _events(verdicts, list(told.values()))
    found = [
        stale,
        *(_upstream(event, verdicts) for event in events if event.is_told),
        *_not_seen(verdicts, events, list(told.values())),
    ]
    found += [_device(condition, item, verdicts, events) for condition in _SHOWN_BY for item in verdicts.devices]
    known = {item.device for item in verdicts.devices}
    found += [
        _removed(item, verdicts) for item in remembered if item.condition in _SHOWN_BY and item.subject not in known
    ]
    if stale.standing is not Standing.ABSENT:
        found[1:] = [alert.model_copy(update={"standing": Standing.UNKNOWN}) for alert in found[1:]]
    return tuple(found)


def deep_tests(result: str, now: datetime, remembered: Sequence[Remembered] = ()) -> tuple[Alert, ...]:
    """The condition of this repository's own deep tests: any ``result`` of their job but a success is a failure."""
    passed = result == "success"
    before = [item for item in remembered if item.condition is Condition.DEEP_TESTS and not item.closed]
    alert = Alert(
        condition=Condition.DEEP_TESTS,
        subject=MAIN,
        standing=Standing.ABSENT if passed else Standing.PRESENT,
        kind=result,
        reason="" if passed else f"their job ended with: {result}",
        date=now,
        began=before[0].seen if before else now,
        good=(now,) if passed else (),
    )
    return (alert,)


def _stale(verdicts: Verdicts, remembered: Sequence[Remembered]) -> Alert:
    standing, reason = Standing.ABSENT, ""
    if verdicts.stale_reason is not None:
        standing, reason = Standing.PRESENT, verdicts.stale_reason
    elif verdicts.plan_id is None and remembered:
        # There were nightlies before, because an issue was opened.
        standing, reason = Standing.PRESENT, "the history holds no nightly at all"
    elif verdicts.plan_id is None:
        standing = Standing.UNKNOWN
    return Alert(
        condition=Condition.STALE,
        subject=NIGHTLY,
        standing=standing,
        kind="stale",
        reason=reason,
        plan_id=verdicts.plan_id,
        date=verdicts.judged_at,
        # The exact time is unknown, so the newest nightly's is used.
        began=verdicts.planned_at or verdicts.judged_at,
        good=_nights(verdicts) if standing is Standing.ABSENT else (),
    )


def _nights(verdicts: Verdicts) -> tuple[datetime, ...]:
    dates = {night.date for item in verdicts.devices for night in item.history}
    return tuple(sorted(dates | ({verdicts.planned_at} if verdicts.planned_at else set())))


@dataclass(frozen=True)
class _Event:
    """Failures with one cause, and the content of their issue, if they have one.

    Attributes:
        others: further clusters of the same issue: when only one device still fails, its tests may no longer share an
            error.

    """

    cluster: Cluster
    issue: Remembered | None
    others: tuple[Cluster, ...] = ()

    @property
    def clusters(self) -> tuple[Cluster, ...]:
        return (self.cluster, *self.others)

    @property
    def devices(self) -> frozenset[str]:
        return frozenset(part.device for one in self.clusters for part in one.devices)

    @property
    def tests(self) -> tuple[str, ...]:
        return tuple(sorted({test for one in self.clusters for test in _tests(one)})[:NAMED])

    @property
    def is_told(self) -> bool:
        """Whether it belongs to an issue about several devices."""
        return self.cluster.cause is Cause.UPSTREAM or self.issue is not None


def _events(verdicts: Verdicts, told: Sequence[Remembered]) -> list[_Event]:
    """Every event of the newest nightly, with its existing issue; each issue is about one event at most."""
    clusters = [event for cluster in verdicts.clusters for event in cluster.events or (cluster,)]
    pairs = [
        (_in_common(item, cluster), -place, -number)
        for number, item in enumerate(told)
        for place, cluster in enumerate(clusters)
        if _is_about(item, cluster)
    ]
    found: dict[int, int] = {}
    for _, place, number in sorted(pairs, reverse=True):
        if -place not in found and -number not in found.values():
            found[-place] = -number
    part_of: dict[int, int] = {}
    for place, cluster in enumerate(clusters):
        owners = (it for it, number in found.items() if place not in found and _covers(told[number], cluster))
        if (owner := next(owners, None)) is not None:
            part_of[place] = owner
    return [
        _Event(
            cluster,
            told[found[place]] if place in found else None,
            tuple(clusters[other] for other, owner in part_of.items() if owner == place),
        )
        for place, cluster in enumerate(clusters)
        if place not in part_of
    ]


def _is_about(item: Remembered, cluster: Cluster) -> bool:
    """Whether an open issue is about failures: two of name, devices and tests are the same, at least in part.

    Failures whose tests still passed when the issue's failures began are different ones.
    """
    had_begun = cluster.last_passed is None or cluster.last_passed.date < item.began
    same = (item.subject.partition("-")[0] in cluster.names, *map(bool, _in_common(item, cluster)))
    return had_begun and sum(same) > 1 and not item.closed and cluster.cause not in CHANCE


def _covers(item: Remembered, cluster: Cluster) -> bool:
    """Whether a cluster is part of an issue: it began with the issue, on devices that the issue already names."""
    known = {part.device for part in cluster.devices} <= set(item.devices)
    return known and _is_about(item, cluster) and not cluster.is_new and cluster.since.date >= item.began


def _still_fails(item: Remembered, cluster: Cluster) -> bool:
    """Whether tests of an issue still fail on its devices, with any error."""
    return cluster.since.date <= item.seen and all(_in_common(item, cluster))


def _in_common(item: Remembered, cluster: Cluster) -> tuple[int, int]:
    """How many devices and tests an issue and failures have in common."""
    devices = {part.device for part in cluster.devices}
    return len(devices.intersection(item.devices)), len(set(_tests(cluster)).intersection(item.tests))


def _tests(cluster: Cluster) -> tuple[str, ...]:
    return tuple(sorted({test for part in cluster.devices for test in part.first})[:NAMED])


def _not_seen(verdicts: Verdicts, events: Sequence[_Event], told: Sequence[Remembered]) -> Iterator[Alert]:
    """The alerts of issues about several devices whose failures were not seen tonight."""
    there = {event.issue.subject for event in events if event.issue}
    for item in told:
        if item.subject in there:
            continue
        good = _good_for(item.devices, verdicts)
        # It is over only if tests of its devices ran, and they do not fail in another cluster.
        goes_on = any(_still_fails(item, event.cluster) for event in events)
        seen = good and good[-1] == verdicts.planned_at and not goes_on and not verdicts.more_clusters
        yield Alert(
            condition=Condition.UPSTREAM,
            subject=item.subject,
            standing=Standing.ABSENT if seen else Standing.UNKNOWN,
            plan_id=verdicts.plan_id,
            date=verdicts.planned_at or verdicts.judged_at,
            began=item.seen,
            devices=item.devices,
            good=good,
        )


def _upstream(event: _Event, verdicts: Verdicts) -> Alert:
    cluster, issue = event.cluster, event.issue
    return Alert(
        condition=Condition.UPSTREAM,
        subject=issue.subject if issue else f"{cluster.signature.id}-{cluster.since.plan_id}",
        # Failures that became known failures, or whose cause became unclear, still fail.
        standing=Standing.PRESENT if cluster.cause is Cause.UPSTREAM else Standing.WAITING,
        reason=cluster.reason,
        plan_id=cluster.plan_id,
        date=verdicts.planned_at or verdicts.judged_at,
        began=min(cluster.since.date, issue.began) if issue else cluster.since.date,
        is_new=cluster.is_new,
        devices=tuple(sorted(event.devices)),
        cluster=cluster,
        tests=event.tests,
    )


def _good_for(devices: Sequence[str], verdicts: Verdicts) -> tuple[datetime, ...]:
    """The nights on which all tests of any of these devices ran."""
    histories = [item.history for item in verdicts.devices if item.device in devices]
    return tuple(
        sorted({night.date for row in histories for night in row if night.verdict in _TESTS_RAN and not night.fallback})
    )


def _device(condition: Condition, item: DeviceVerdict, verdicts: Verdicts, events: Sequence[_Event]) -> Alert:
    newest = item.history[-1] if item.history else None
    date = newest.date if newest else verdicts.planned_at or verdicts.judged_at
    standing = _standing(condition, item, verdicts, events)
    shown = standing in (Standing.PRESENT, Standing.WAITING)
    return Alert(
        condition=condition,
        subject=item.device,
        standing=standing,
        kind=_kind(item.verdict) if shown else "",
        reason=item.reason,
        plan_id=newest.plan_id if newest else verdicts.plan_id,
        date=date,
        began=_began(condition, item, date) if shown else date,
        is_new=shown and condition is Condition.BROKEN and item.new_failures > 0,
        devices=(item.device,),
        tests=_failing(item, verdicts) if shown and condition is Condition.BROKEN else (),
        good=_streak(item.history, _DISPROVED_BY[condition], _SHOWN_BY[condition]),
    )


def _failing(item: DeviceVerdict, verdicts: Verdicts) -> tuple[str, ...]:
    mine = (part for one in verdicts.clusters if one.cause not in EXCUSED for part in one.devices)
    return tuple(sorted({test for part in mine if part.device == item.device for test in part.first})[:NAMED])


def _began(condition: Condition, item: DeviceVerdict, date: datetime) -> datetime:
    if condition is Condition.BROKEN and item.broken_since is not None:
        return item.broken_since
    return _streak(item.history, _SHOWN_BY[condition], _DISPROVED_BY[condition], date)[0]


def _standing(condition: Condition, item: DeviceVerdict, verdicts: Verdicts, events: Sequence[_Event]) -> Standing:
    if item.is_fallback:
        return Standing.UNKNOWN
    if item.verdict in _SHOWN_BY[condition]:
        early = item.nights < PATIENCE.get(item.verdict, 0)
        waits = early or (condition is Condition.BROKEN and _is_told_with_others(item, verdicts, events))
        return Standing.WAITING if waits else Standing.PRESENT
    return Standing.ABSENT if item.verdict in _DISPROVED_BY[condition] else Standing.UNKNOWN


def _is_told_with_others(item: DeviceVerdict, verdicts: Verdicts, events: Sequence[_Event]) -> bool:
    """Whether all failures of a device belong to issues about several devices: its maintainers could fix nothing.

    Clusters do not cover a device that the newest nightly left out; its last night was handled then.
    """
    if item.history and item.history[-1].plan_id != verdicts.plan_id:
        return True
    broken = [event for event in events if item.device in event.devices and event.cluster.cause not in EXCUSED]
    # Clusters contain the stage of a suite that did not finish, but not its lost tests.
    parts = [part for event in broken for one in event.clusters for part in one.devices if part.device == item.device]
    is_whole = item.verdict is not VerdictName.LOST_TESTS or any(item.broke_at in part.first for part in parts)
    return bool(broken) and all(event.is_told for event in broken) and is_whole and not _is_cut(item, verdicts)


def _is_cut(item: DeviceVerdict, verdicts: Verdicts) -> bool:
    """Whether a device fails of something of which there is no cluster any more, because there were too many."""
    if not verdicts.more_clusters:
        return False
    failing = {change.signature for change in item.changes if change.change in FAILING and not change.known}
    return not failing.issubset({None, *(name for cluster in verdicts.clusters for name in cluster.names)})


def _kind(verdict: VerdictName) -> str:
    """The kind of failure; a new and an old test failure are the same kind."""
    return "TESTS" if verdict in (VerdictName.REGRESSED, VerdictName.FAILING) else verdict.value


def _streak(
    nights: Sequence[Night], wanted: frozenset[VerdictName], ends: frozenset[VerdictName], *default: datetime
) -> tuple[datetime, ...]:
    """The newest streak of nights with the wanted verdicts, oldest first; only the verdicts ``ends`` interrupt it."""
    row: list[datetime] = []
    for night in reversed(nights):
        if night.fallback:
            continue
        if night.verdict in ends:
            break
        if night.verdict in wanted:
            row.insert(0, night.date)
    return tuple(row) or default


def _removed(item: Remembered, verdicts: Verdicts) -> Alert:
    return Alert(
        condition=item.condition or Condition.BROKEN,
        subject=item.subject,
        standing=Standing.GONE,
        kind=item.kind,
        date=verdicts.judged_at,
        began=item.seen,
        devices=item.devices,
    )
