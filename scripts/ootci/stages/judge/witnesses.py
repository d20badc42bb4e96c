"""Lost tests that the other devices no longer run either: evidence that the suite changed and not the device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import and_

from ootci.history.baseline import as_planned, collected, ran
from ootci.history.flakiness import LATELY
from ootci.history.reader import HistoryReader
from ootci.history.stored import StoredRun
from ootci.model.device import OURS, UPSTREAM, RegisteredDevice, Tier
from ootci.model.plan import Plan

SHARED = frozenset(OURS) - {UPSTREAM}
"""The suites that are the same on every device; each device file selects which of PyTorch's tests are run."""


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

    def accepted(self, plan: Plan, run: StoredRun, suite: str, rows: int) -> int:
        """Those of a run's lost tests, all of one suite, that the witnesses do not run either, by row.

        A test that is still collected, and skipped, is accepted only where a witness skips it, too, and did not before.
        """
        asked: dict[str, StoredRun] = {}
        lacking = rows if suite in SHARED else 0
        for name in self.of(run.head.device):
            # Where one of them ran all of the tests, the reports of the others need not be read.
            found = self._run(name, plan) if lacking else None
            if found is not None and found.head.channel is not None and suite in found.head.complete_suites:
                asked[name] = found
                lacking &= ~ran(found, lacking)
        if not asked or not lacking:
            return 0
        there = collected(run, lacking)
        # By witness: the tests that neither it nor the device collected, and those that both skipped.
        alike = {name: lacking & ~(collected(found, lacking) ^ there) for name, found in asked.items()}
        accepted = 0 if run.head.device in self._references else reduce(and_, alike.values(), lacking & ~there)
        for name, same in alike.items():
            nights = self._lately(name, plan)
            while (undecided := same & ~accepted) and (earlier := next(nights, None)) is not None:
                accepted |= ran(earlier, undecided)
        return accepted

    def _run(self, device: str, plan: Plan) -> StoredRun | None:
        if (device, plan.id) not in self._read:
            self._read[device, plan.id] = as_planned(plan, self._history.counting_run(device, plan.id))
        return self._read[device, plan.id]

    def _lately(self, device: str, plan: Plan) -> Iterator[StoredRun]:
        """A device's runs on the last nights before, the newest first."""
        place = self._place[plan.id]
        earlier = (self._run(device, before) for before in reversed(self._plans[max(0, place - LATELY) : place]))
        return (run for run in earlier if run is not None)
