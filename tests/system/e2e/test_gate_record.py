"""The gate on drawn nights: how often it says no although nothing broke, and how many real breaks it misses."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from random import Random, SystemRandom

import pytest
from drawn import deep
from simulator.memory import Memory
from unit.samples import device, night, plan, run

from ootci.history.states import state_of
from ootci.history.stored import StoredRun, stored
from ootci.model.build import StageStatus
from ootci.model.outcome import Counts, OutcomeName
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild
from ootci.stages.test.again import LAST, MAX_AGAIN

NAMES = ("reference", "alder", "borealis", "cobalt", "dune")
"""The gating devices, the reference first."""
TESTS = 300
FLAKY = 30
"""So many tests of each device flake."""
CHANCE = 0.02
"""How often each of them fails, at first and when it is run again."""
SEEDS = 20
EVERY = 11
"""Something breaks on every so manieth night, and is mended on the next. The devices take turns, so that no test breaks
twice within the nights that its record of flaking is made from."""
SIZES = (1, 1, 1, 2, 5, MAX_AGAIN, MAX_AGAIN + 1, 100, TESTS)
"""How many tests break: a break of one test is the hardest to tell from chance."""
MOST_FALSE_ALARMS = 0.02
SHOWN = 60
"""Wrong answers that a failure names; the others are counted."""
SEED = "OOTCI_GATE_RECORD_SEED"
"""The environment variable that plays a printed seed again."""


@dataclass
class Record:
    """What the gate answered.

    Attributes:
        sound: its answers on nights on which nothing broke.
        broken: its answers on nights on which something did.
        mistakes: each wrong answer, for people.

    """

    sound: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    mistakes: list[str] = field(default_factory=list)


class Device:
    """A device of which many tests flake.

    Args:
        name: name of the device.
        history: knows its tests.
        random: where its chance comes from.

    """

    def __init__(self, name: str, history: Memory, random: Random) -> None:
        self._random = random
        self._ids = [f"integration/test_x.py::test[{number}]" for number in range(TESTS)]
        self.flaky = frozenset(random.sample(range(TESTS), FLAKY))
        self._calm = run(0, name, integration={f"test[{number}]": "passed" for number in range(TESTS)})
        self._stored = stored(self._calm, history.tests)
        self._rows = [history.tests.rows_of_id(test_id)[0] for test_id in self._ids]
        self._failed_before: frozenset[int] = frozenset()

    def report(self, number: int, broken: Collection[int]) -> StoredRun:
        """What it reports on a night: chance decides about its flaky tests, and what newly fails is run again."""
        shaken = {test for test in sorted(self.flaky) if self._random.random() < CHANCE}
        failed = shaken.union(broken)
        new = failed - self._failed_before
        again = new if len(new) <= MAX_AGAIN else frozenset()
        later = {test: self._again(is_broken=test in broken) for test in sorted(again)}
        passed = {test for test, outcomes in later.items() if outcomes[-1] is OutcomeName.PASSED}
        self._failed_before = frozenset(failed - passed)
        states = bytearray(self._stored.states)
        for test in failed:
            states[self._rows[test]] = state_of(OutcomeName.FAILED, None)
        attempts = {self._rows[test]: outcomes for test, outcomes in later.items()}
        head = self._head(number, len(failed), len(passed))
        return replace(self._stored, head=head, states=bytes(states), attempts=attempts)

    def _again(self, *, is_broken: bool) -> tuple[OutcomeName, ...]:
        """The later attempts of a test, up to the first that passes."""
        found: list[OutcomeName] = []
        while len(found) < LAST - 1 and OutcomeName.PASSED not in found:
            fails = is_broken or self._random.random() < CHANCE
            found.append(OutcomeName.FAILED if fails else OutcomeName.PASSED)
        return tuple(found)

    def _head(self, number: int, failed: int, flaky: int) -> Run:
        smoke, integration = self._stored.head.suites
        counts = Counts(passed=TESTS - failed, failed=failed, flaky=flaky)
        stages = self._stored.head.stages
        if failed:
            update = {"status": StageStatus.FAILED, "reason": f"{failed} tests failed", "only_tests": True}
            stages = tuple(item.model_copy(update=update if item.name == "integration" else {}) for item in stages)
        return self._stored.head.model_copy(
            update={
                "id": f"night{number:03d}-{self._calm.device}",
                "plan_id": f"night{number:03d}",
                "started_at": night(number),
                "finished_at": night(number) + timedelta(minutes=5),
                "torch": TorchBuild(version="2.14.0.dev20261101+cpu", git_version=f"{number:040x}"),
                "stages": stages,
                "suites": (smoke, integration.model_copy(update={"counts": counts})),
            }
        )


def play(seed: int, nights: int, folder: Path, record: Record) -> None:
    """One world: its nights in order, each judged as the nightly does, with what was reported by then."""
    random = Random(seed)  # noqa: S311 - nothing secret
    history = Memory(folder)
    devices = [Device(name, history, random) for name in NAMES]
    registry = [device(name, tier="gating" if place else "reference") for place, name in enumerate(NAMES)]
    breaks = _breaks(random, devices)
    for number in range(nights):
        which, tests = next(breaks) if number % EVERY == EVERY - 1 else (0, frozenset())
        history.append_plan(plan(number, NAMES))
        for place, item in enumerate(devices):
            history.append_stored(item.report(number, tests if place == which else ()))
        gate = history.judge(registry, night(number) + timedelta(hours=1)).gate
        (record.broken if tests else record.sound)[gate.answer] += 1
        if gate.answer != ("no" if tests else "yes"):
            what = f"{len(tests)} tests of {NAMES[which]} broke" if tests else "nothing broke"
            record.mistakes.append(f"seed {seed}, night {number}: {what}, {gate.answer}: {gate.reason}")


def _breaks(random: Random, devices: list[Device]) -> Iterator[tuple[int, frozenset[int]]]:
    """What breaks next: the device's place, and tests that do not flake, unless all of its tests break."""
    turn = 0
    while True:
        place, size = turn % len(devices), random.choice(SIZES)
        sound = sorted(set(range(TESTS)) - devices[place].flaky)
        yield place, frozenset(range(TESTS) if size == TESTS else random.sample(sound, size))
        turn += 1


@pytest.mark.parametrize(("nights", "sound", "breaks"), [(33, 600, 60), deep(330, 6000, 600)])
def test_the_gate_is_seldom_wrong_on_sound_nights_and_misses_no_break(
    nights: int, sound: int, breaks: int, tmp_path: Path
) -> None:
    master = int(os.environ.get(SEED) or SystemRandom().randrange(10**9))
    record = Record()
    for number in range(SEEDS):
        seed = Random(f"{master}/{number}").randrange(10**9)  # noqa: S311 - nothing secret
        play(seed, nights, tmp_path, record)
    told = "\n".join([f"{SEED}={master}", *record.mistakes[:SHOWN]])
    assert record.sound.total() >= sound
    assert record.broken.total() >= breaks
    assert record.broken["no"] == record.broken.total(), told
    assert record.sound["no"] <= MOST_FALSE_ALARMS * record.sound.total(), told
    assert record.sound["cannot_say"] == 0, told
