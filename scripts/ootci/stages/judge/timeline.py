"""A device's nights in order; each is judged once, with the history up to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ootci.history.baseline import Earlier, as_planned, concerns
from ootci.history.excuses import Excuses, Record
from ootci.history.flakiness import tells
from ootci.history.nights import DeviceNight, attempts_by_nightly
from ootci.history.stored import StoredRun
from ootci.model.device import BadRange, Device
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel
from ootci.model.verdict import AS_EXPECTED, Before, Night, VerdictName

from .gate import VOUCHING, Told, has_result
from .night import Judged, Losses, judge_night
from .witnesses import Witnesses


@dataclass
class Known:
    """The state of a device on one channel after the nights before.

    Attributes:
        bad_ranges: nights that are excluded from the record of flaky tests.
        earlier: what the next night is compared with.
        record: the recent results of its tests.

    """

    device: str
    bad_ranges: tuple[BadRange, ...] = ()
    earlier: Earlier = field(default_factory=Earlier)
    record: Record = field(default_factory=Record)

    def judge(self, plan: Plan, run: StoredRun | None, witnesses: Witnesses, *, ever: bool) -> Judged:
        """The verdict on the next night; the state does not change."""
        losses, excuses, baseline = Losses(), Excuses(), self.earlier.of(run)
        if run is not None:
            losses = Losses.of(plan, run, baseline, witnesses)
            excuses = self.record.excuses(plan, run, baseline.before)
        return judge_night(self.device, plan, run, baseline.before, losses=losses, excuses=excuses, ever=ever)

    def add(self, plan: Plan, run: StoredRun, judged: Judged) -> None:
        """Add the night that was judged."""
        self.earlier.add(run, judged.losses.accepted)
        if tells(self.bad_ranges, plan, run):
            self.record.add(run)


@dataclass
class Timeline:
    """A device's nights, judged up to the newest.

    Attributes:
        bad_ranges: nights that are excluded from the record of flaky tests.
        nights: the nights that concerned it, oldest first.
        reported: what was expected and what was reported on each of them.
        before: what the newest of them was compared with.
        judged: the outcome of the newest of them.
        told: what those of them told the gate that had a result, by nightly.

    """

    device: str
    bad_ranges: tuple[BadRange, ...] = ()
    nights: list[Night] = field(default_factory=list)
    reported: list[DeviceNight] = field(default_factory=list)
    before: StoredRun | None = None
    judged: Judged | None = None
    told: dict[str, Told] = field(default_factory=dict)
    _failed: frozenset[str] = frozenset()
    _fresh: frozenset[str] = frozenset()
    _channel: Channel | None = None
    _known: dict[Channel, Known] = field(default_factory=dict)
    _ever: bool = False
    _plans: int = 0

    @property
    def run(self) -> StoredRun | None:
        """The report of the newest night."""
        return self.reported[-1].run if self.reported else None

    def go_on(self, plans: Sequence[Plan], runs: Sequence[StoredRun], witnesses: Witnesses) -> None:
        """Judge the nights after those that are judged already, of all nightlies, oldest first, by the device's
        attempts.
        """
        attempts = attempts_by_nightly(runs)
        for plan in plans[self._plans :]:
            if concerns(plan, self.device):
                self._judge(plan, attempts[plan.id][-1] if plan.id in attempts else None, witnesses)
        self._plans = len(plans)

    def _judge(self, plan: Plan, reported: StoredRun | None, witnesses: Witnesses) -> None:
        run = as_planned(plan, reported)
        night = DeviceNight(plan, run)
        if night.channel is not None:
            self._channel = night.channel
        # A torch that replaced the requested one is compared with nothing, and nothing is compared with it.
        compared = None if night.is_fallback else self._channel
        nothing = Known(self.device, self.bad_ranges)
        known = nothing if compared is None else self._known.setdefault(compared, nothing)
        self.before = known.earlier.of(run).before
        late = reported.late if reported is not None else None
        earlier = None
        if late is not None:
            found = known.judge(plan, as_planned(plan, late.instead), witnesses, ever=self._ever)
            earlier = Before(verdict=found.verdict, reason=found.reason, until=late.at)
        self.judged = known.judge(plan, run, witnesses, ever=self._ever)
        if run is not None and night.channel is not None:
            known.add(plan, run, self.judged)
        self.reported.append(night)
        self.nights.append(
            Night(
                plan_id=plan.id,
                date=plan.created_at,
                verdict=self.judged.verdict,
                reason=None if self.judged.verdict in AS_EXPECTED else self.judged.reason,
                run_id=run.head.id if run else None,
                fallback=night.is_fallback,
                before=earlier,
            )
        )
        judged = self.judged
        if run and has_result(judged.verdict, judged.broke_at, run.head.id, fallback=night.is_fallback):
            self._tell(plan, run, self.judged)
        self._ever = self._ever or run is not None

    def _tell(self, plan: Plan, run: StoredRun, judged: Judged) -> None:
        fresh = judged.failed - self._failed
        torch = run.head.torch.source if run.head.torch else None
        blocks = judged.verdict not in VOUCHING
        self.told[plan.id] = Told(blocks, bool(fresh), bool(judged.failed & self._fresh), torch)
        self._fresh, self._failed = fresh, judged.failed


def today(
    device: Device, timeline: Timeline, runs: Sequence[StoredRun], now: datetime, *, asked_for: bool = False
) -> Judged:
    """The newest night's verdict, unless the device is paused now, never ran, or its last report is too old.

    Args:
        runs: every attempt of the device.
        asked_for: whether somebody asked the newest nightly for it by its name, paused as it is.

    """
    judged = timeline.judged
    if device.paused is not None and not asked_for:
        return Judged(VerdictName.PAUSED, device.paused.reason)
    if judged is None:
        return Judged(VerdictName.NEVER_RAN, "no nightly has run it yet")
    if not runs and judged.verdict is not VerdictName.NEVER_RAN:
        return Judged(VerdictName.NEVER_RAN, "no nightly has run it yet")
    silent = now - timeline.nights[-1].date
    # NEVER_RAN outranks staleness.
    if silent > device.cadence.stale_after and judged.verdict is not VerdictName.NEVER_RAN:
        days = silent.total_seconds() / 86400
        return Judged(VerdictName.NO_DATA, f"the last nightly that ran it is {days:.1f} days old")
    return judged
