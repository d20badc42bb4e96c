"""Every device's verdict, night by night.

Nights are judged in order, each with what was known by then, so that a verdict that was given once stays as it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from ootci.history.clusters import Failing
from ootci.history.difference import changes_between, newly_failing, was_run
from ootci.history.expectations import outdated, review_declarations, review_known, review_unsupported
from ootci.history.first_failures import failing_of
from ootci.history.nights import CommitCounts, streak_between
from ootci.history.store import History
from ootci.history.stored import StoredRun
from ootci.model.cluster import Streak
from ootci.model.device import Cadence, Device, RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.verdict import AS_EXPECTED, BROKEN, DeviceVerdict, Night, VerdictName, Verdicts

from .clusters import CLUSTERS, kept, named_by_cluster, newest_clusters, sentence, since
from .commits import Counting
from .gate import decide, gate_record
from .night import required_counts
from .other_torches import on_torches
from .predicted import predicted
from .timeline import Timeline, today
from .witnesses import Witnesses

STALE_AFTER = Cadence.NIGHTLY.stale_after
"""The greatest age of the newest nightly; beyond it the page is stale."""
STRIP_NIGHTS = 90
TOLERANCE = timedelta(hours=1)
"""How far the clock of the machine that plans may be ahead."""


def judge(
    registry: Sequence[RegisteredDevice], history: History, now: datetime, timelines: dict[str, Timeline] | None = None
) -> Verdicts:
    """Derive every registered device's verdict, the front page's sentence and the gate.

    Args:
        registry: every registered device, in registry order.
        now: the aware time that staleness is judged against.
        timelines: by device, the nights that are judged already; the others are added. None: judge all, and keep none.

    Raises:
        HistoryCorrupt: a record of the history cannot be read back.

    """
    known = history.plans()
    plans = [plan for plan in known if plan.created_at <= now + TOLERANCE]
    # A plan for other torches only is no nightly.
    newest = next((plan for plan in reversed(plans) if plan.runs or not plan.also), None)
    witnesses = Witnesses(registry, history, plans)
    judged, told, plugins = [], {}, {}
    for item in registry:
        runs = history.stored_runs(item.device.name)
        timeline = Timeline(item.device.name, item.device.bad_ranges)
        if timelines is not None:
            timeline = timelines.setdefault(item.device.name, timeline)
        timeline.go_on(plans, runs, witnesses)
        judged.append(_device(item, timeline, runs, now, newest))
        told[item.device.name] = timeline.told
        plugins[item.device.name] = CommitCounts(run.head.plugin.new_commits for run in runs if run.head.plugin)
    clusters = newest_clusters(registry, newest, {verdict.device: failing for verdict, failing in judged})
    counts = CommitCounts(plan.new_commits for plan in plans)
    counting = Counting(counts, plugins)
    devices = named_by_cluster((counting.device(verdict) for verdict, _ in judged), clusters)
    predictions = predicted(plans, history, devices, counts)
    return Verdicts(
        judged_at=now,
        plan_id=newest.id if newest else None,
        planned_at=newest.created_at if newest else None,
        stale_reason=_stale(newest, now),
        stale_at=newest.created_at + STALE_AFTER if newest else None,
        summary=sentence(devices, newest, clusters),
        gate=decide(
            registry,
            devices,
            clusters,
            planned_at=newest.created_at if newest else None,
            doubt=_future(known, now) or _stale(newest, now),
            alone=newest.alone if newest else (),
            predicted=predictions.broken if predictions else (),
        ),
        gate_record=gate_record(registry, plans, told),
        clusters=tuple(map(counting.cluster, kept(clusters))),
        more_clusters=max(0, len(clusters) - CLUSTERS),
        devices=devices,
        also=tuple(verdict for item in registry for verdict in on_torches(item.device, plans, history, witnesses, now)),
        predicted=predictions,
    )


def _future(plans: Sequence[Plan], now: datetime) -> str | None:
    """Why the gate cannot answer while a nightly is dated in the future; it is judged at that time."""
    ahead = [plan for plan in plans if plan.created_at > now + TOLERANCE]
    if not ahead:
        return None
    last = ahead[-1]
    return f"the nightly {last.id} is dated {last.created_at:%Y-%m-%d}, in the future: withdraw it"


def _stale(newest: Plan | None, now: datetime) -> str | None:
    if newest is None or now - newest.created_at <= STALE_AFTER:
        return None
    hours = (now - newest.created_at).total_seconds() / 3600
    limit = STALE_AFTER.total_seconds() / 3600
    return f"the newest nightly is {hours:.0f} hours old, more than {limit:.0f}"


def _device(
    item: RegisteredDevice, timeline: Timeline, runs: Sequence[StoredRun], now: datetime, newest: Plan | None
) -> tuple[DeviceVerdict, tuple[Failing, ...]]:
    device, nights, run, before = item.device, timeline.nights, timeline.run, timeline.before
    judged = today(device, timeline, runs, now, asked_for=_ran_although_paused(item, newest))
    last = timeline.reported[-1] if timeline.reported else None
    is_fallback = last is not None and last.is_fallback
    plan = last.plan if last else None
    reviews = review_known(plan, device.name, run)
    claims = (*review_unsupported(plan, device.name, run), *review_declarations(device, runs))
    found = timeline.judged or judged
    excuses = found.excuses
    required = run.head.required_suites if run else frozenset()
    counts = required_counts(run)
    row = _row(nights, judged.verdict)
    broken_since = None if judged.verdict is VerdictName.PAUSED else _broken_since(timeline)
    changed = _since_the_run_before(timeline)
    failing = failing_of(timeline.reported, excuses)
    compared = run if not is_fallback else None
    new = newly_failing(before, compared, excuses.all) if compared else ()
    suites = {item.suite for item in new} or {report.suite for report in (compared.head.suites if compared else ())}
    is_first = compared is not None and not any(was_run(before, suite) for suite in suites)
    lost = found.losses.ids
    differ = changes_between(before, compared, excuses.known, lost, excuses.unsettled) if compared else ()
    changes, streaks = since(differ, failing)
    verdict = DeviceVerdict(
        device=device.name,
        verdict=judged.verdict,
        reason=judged.reason + (outdated(reviews, claims) if judged.verdict in AS_EXPECTED else ""),
        verdict_since=_verdict_since(device, judged.verdict, row, nights),
        broken_since=broken_since,
        nights=sum(not night.fallback for night in row),
        is_new=(
            judged.verdict in BROKEN
            and plan is not None
            and plan is newest
            and broken_since == plan.created_at
            and not is_first
        ),
        broke_at=judged.broke_at,
        run_id=run.head.id if run else None,
        reported_at=run.head.finished_at if run else None,
        torch_request=run.head.torch_request if run else None,
        torch=run.head.torch if run else None,
        plugin=run.head.plugin if run else None,
        torch_changed=changed.torch_changed if changed else None,
        plugin_changed=changed.plugin_changed if changed else None,
        counts=counts,
        pass_rate=counts.pass_rate,
        new_failures=len(new),
        is_first=is_first,
        known=sum(item.suite in required and item.id in excuses.known for item in run.failures) if run else 0,
        known_failures=reviews,
        unsupported=claims,
        changes=changes,
        streaks=streaks,
        history=tuple(nights[-STRIP_NIGHTS:]),
    )
    return verdict, failing


def _since_the_run_before(timeline: Timeline) -> Streak | None:
    """The changes between the newest night and the one that it is compared with; None without either."""
    last = timeline.reported[-1] if timeline.reported else None
    if last is None or last.run is None:
        return None
    run = last.run
    before = next((item for item in reversed(timeline.reported[:-1]) if item.compares_with(run)), None)
    return streak_between(before.mark, last.mark) if before is not None else None


def _ran_although_paused(item: RegisteredDevice, newest: Plan | None) -> bool:
    """Whether the newest nightly was started for a paused device by name: its file was paused then as it is now.

    The checksum tells that from a device that was paused after it had run.
    """
    planned = newest.expected(item.device.name) if newest else None
    return item.device.paused is not None and planned is not None and planned.device_sha256 == item.sha256


def _row(nights: Sequence[Night], verdict: VerdictName) -> list[Night]:
    """The newest nights in a row with the verdict; fallback nights before the newest are skipped."""
    row: list[Night] = []
    for night in reversed(nights):
        if night.fallback and night is not nights[-1]:
            continue
        if night.verdict is not verdict:
            break
        row.insert(0, night)
    return row


def _broken_since(timeline: Timeline) -> datetime | None:
    """The first night of the current broken streak: only a night as expected that the newest report is compared with
    ends one.
    """
    newest = next((item.run for item in reversed(timeline.reported) if item.run and item.channel is not None), None)
    first = None
    for night, reported in zip(reversed(timeline.nights), reversed(timeline.reported), strict=True):
        if reported.run is not None and newest is not None and not reported.compares_with(newest):
            continue
        if night.verdict in AS_EXPECTED:
            break
        if night.verdict in BROKEN:
            first = night.date
    return first


def _verdict_since(
    device: Device, verdict: VerdictName, row: Sequence[Night], nights: Sequence[Night]
) -> datetime | None:
    """When the verdict began; unknown for a device that was paused after its newest night."""
    if row:
        return row[0].date
    # No night was NO_DATA, but the verdict is: the newest night became too old.
    return nights[-1].date + device.cadence.stale_after if verdict is VerdictName.NO_DATA and nights else None
