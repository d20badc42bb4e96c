"""A history for worlds in which every night is asked about."""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ootci.history.run_file import signatures_of
from ootci.history.store import History
from ootci.history.stored import StoredRun, stored
from ootci.model.compat import Compat
from ootci.model.device import RegisteredDevice, Tier
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import Verdicts
from ootci.stages.judge import judge
from ootci.stages.judge.timeline import Timeline

from .world import Night


class Memory(History):
    """A history that stays in memory and is judged night by night, each night once unless a later report changes it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._nightlies: list[Plan] = []
        self._kept: dict[str, list[StoredRun]] = {}
        self._timelines: dict[str, Timeline] = {}
        self._judged: set[str] = set()
        self._changed: set[str] = set()

    def append_plan(self, plan: Plan) -> bool:
        self._nightlies.append(plan)
        return True

    def take(self, night: Night) -> None:
        """Add what a night brings; a nightly in the future of an earlier night is withdrawn by now."""
        today = [plan for plan in self._nightlies if plan.created_at <= night.now]
        self._nightlies = [*today, night.plan, *([night.future] if night.future else [])]
        for run in night.arrivals:
            self.append_run(run)

    def plans(self) -> tuple[Plan, ...]:
        return tuple(self._nightlies)

    def compat(self, plan_id: str) -> Compat | None:
        return None

    def stored_runs(self, device: str) -> tuple[StoredRun, ...]:
        return tuple(self._kept.get(device, ()))

    def counting_run(self, device: str, plan_id: str) -> StoredRun | None:
        runs = [run for run in self._kept.get(device, ()) if run.head.plan_id == plan_id]
        return max(runs, key=lambda run: run.head.attempt, default=None)

    def append_run(self, run: Run) -> bool:
        return self.append_stored(stored(run, self.tests, signatures_of(run)))

    def append_stored(self, run: StoredRun) -> bool:
        """Add a run as the history keeps it; what is delivered twice is kept twice, so that judges have to cope."""
        insort(self._kept.setdefault(run.head.device, []), run, key=lambda kept: kept.head.started_at)
        if run.head.plan_id in self._judged:
            self._changed.add(run.head.device)
        return True

    def judge(self, registry: Sequence[RegisteredDevice], now: datetime) -> Verdicts:
        """The verdicts by now. The reference device is a witness for every other one, and every other one for it."""
        references = {item.device.name for item in registry if item.device.tier is Tier.REFERENCE}
        for item in registry:
            name, timeline = item.device.name, self._timelines.get(item.device.name)
            is_late = self._changed & {name, *references} or (self._changed and name in references)
            if timeline and (is_late or timeline.bad_ranges != item.device.bad_ranges):
                del self._timelines[name]
        self._changed.clear()
        self._judged.update(plan.id for plan in self._nightlies)
        return judge(registry, self, now, self._timelines)
