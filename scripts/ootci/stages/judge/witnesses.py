"""Lost tests that the other devices no longer run either: evidence that the suite changed and not the device."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ootci.history.baseline import as_planned, executed, was_executed
from ootci.history.flakiness import LATELY
from ootci.history.reader import HistoryReader
from ootci.history.stored import StoredRun
from ootci.model.device import OURS, UPSTREAM, RegisteredDevice, Tier
from ootci.model.plan import Plan

SHARED = frozenset(OURS) - {UPSTREAM}
"""The suites that are the same on every device; each device file says which of PyTorch's tests are run."""


class Witnesses:
    """The devices whose reports tell whether a suite still has a test, on these nightlies, oldest first.

    For most devices that is the reference device. It is never its own evidence: for its own loss, the other devices are
    asked, and at least one of them must have lost the test, too.
    """

    def __init__(self, registry: Sequence[RegisteredDevice], history: HistoryReader, plans: Sequence[Plan]) -> None:
        self._references = [item.device.name for item in registry if item.device.tier is Tier.REFERENCE]
        self._others = [item.device.name for item in registry if item.device.tier is not Tier.REFERENCE]
        self._history = history
        self._plans = plans
        self._read: dict[tuple[str, str], StoredRun | None] = {}
        self._place = {plan.id: place for place, plan in enumerate(plans)}

    def of(self, device: str) -> list[str]:
        """Names of the devices that are asked about a device's loss."""
        return self._others if device in self._references else self._references[:1]

    def accepted(self, plan: Plan, run: StoredRun, rows: Iterable[int]) -> frozenset[int]:
        """Those of a run's lost tests that the witnesses do not run either, by row.

        A test that is still collected, and skipped, is accepted only where a witness skips it, too, and did not before.
        """
        shared = [row for row in rows if run.tests[row].suite in SHARED]
        witnesses = self._runs(run.head.device, plan) if shared else {}
        accepted: set[int] = set()
        for suite in {run.tests[row].suite for row in shared}:
            asked = {name: found for name, found in witnesses.items() if suite in found.head.complete_suites}
            ran = [executed(found) for found in asked.values()]
            # Most of them run on a witness under the same row, which is seen without looking for the test.
            lacking = (
                row
                for row in shared
                if run.tests[row].suite == suite and not any(row < len(states) and states[row] for states in ran)
            )
            accepted.update(row for row in lacking if asked and self._lack(run, row, plan, asked))
        return frozenset(accepted)

    def _lack(self, run: StoredRun, row: int, plan: Plan, asked: dict[str, StoredRun]) -> bool:
        test_id = run.tests[row].id
        if run.tests.has_others(row) and any(was_executed(found, test_id) for found in asked.values()):
            return False
        is_gone = _is_gone(run, row)
        alike = [name for name, found in asked.items() if _is_gone(found, row) is is_gone]
        if is_gone and alike == list(asked) and run.head.device not in self._references:
            return True
        return any(self._ran_before(name, plan, test_id) for name in alike)

    def _runs(self, device: str, plan: Plan) -> dict[str, StoredRun]:
        found = {name: self._run(name, plan) for name in self.of(device)}
        return {name: run for name, run in found.items() if run is not None and run.head.channel is not None}

    def _run(self, device: str, plan: Plan) -> StoredRun | None:
        if (device, plan.id) not in self._read:
            self._read[device, plan.id] = as_planned(plan, self._history.counting_run(device, plan.id))
        return self._read[device, plan.id]

    def _ran_before(self, device: str, plan: Plan, test_id: str) -> bool:
        place = self._place[plan.id]
        earlier = (self._run(device, before) for before in reversed(self._plans[max(0, place - LATELY) : place]))
        return any(run is not None and was_executed(run, test_id) for run in earlier)


def _is_gone(run: StoredRun, row: int) -> bool:
    """Whether a run did not even collect the test of a row."""
    if run.tests.has_others(row):
        return run.result(run.tests[row].id)[0] is None
    return run.outcome(row) is None
