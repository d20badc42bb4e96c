"""How right a judge is about the invented world."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from ootci.model.cluster import Cause, Cluster
from ootci.model.verdict import BROKEN, Change, ChangeName, DeviceVerdict, VerdictName, Verdicts

from .event import Blame, Event, Kind
from .truth import Expected
from .world import Night, World

ALARMS = frozenset({ChangeName.REGRESSION, ChangeName.NEW_FAILURE})
BLAMES = {
    Cause.UPSTREAM: Blame.UPSTREAM,
    Cause.SUSPECTED_UPSTREAM: Blame.SUSPECTED,
    Cause.PLUGIN: Blame.PLUGIN,
    Cause.UNKNOWN: Blame.UNCLEAR,
}
CHARGES = frozenset({Cause.UPSTREAM, Cause.SUSPECTED_UPSTREAM, Cause.PLUGIN})
STAGES = {
    Kind.BUILD_BREAK_UPSTREAM: ("build",),
    Kind.BUILD_BREAK_PLUGIN: ("build",),
    Kind.IMPORT_BREAK_UPSTREAM: ("import",),
    Kind.IMPORT_BREAK_PLUGIN: ("import",),
}
"""The stages that break where no test does."""
WIDTHS = (36, 9, 9, 9, 9, 9)


@dataclass
class Tally:
    """How often something was to be told, and how often it was told rightly: the verdict, the tests, the blame."""

    told: int = 0
    verdict: int = 0
    changes: int = 0
    blamed: int = 0
    blame: int = 0


@dataclass
class Score:
    """How right a judge is.

    Attributes:
        kinds: what was to be told, by kind: on the right night, with the right verdict, tests and blame.
        mended: what was over, in the same terms.
        pages: pages of one device on one night, by the verdict that they should have.
        right: those that have it.
        since: those that have it and say since when rightly.
        false_alarms: pages that call a device broken that is not.
        missed_alarms: pages that call a broken device well.
        false_changes: tests that are called newly failing and that nothing happened to but chance.
        false_blame: parts of new clusters that are laid to somebody's charge, and to which nobody did anything.
        mistakes: what was wrong, for people.

    """

    kinds: dict[str, Tally] = field(default_factory=dict)
    mended: Tally = field(default_factory=Tally)
    pages: Counter[str] = field(default_factory=Counter)
    right: Counter[str] = field(default_factory=Counter)
    since: int = 0
    false_alarms: int = 0
    missed_alarms: int = 0
    false_changes: int = 0
    false_blame: int = 0
    mistakes: list[str] = field(default_factory=list)

    def add(self, world: World, night: Night, expected: Sequence[Expected], said: Verdicts) -> None:
        """Hold one night's page against the truth."""
        by_name = {item.device: item for item in said.devices}
        for truth in expected:
            name = world.makers[truth.device].name
            clusters = [item for item in said.clusters if any(part.device == name for part in item.devices)]
            self._add_page(world, night, truth, by_name[name])
            self._add_news(world, night, truth, by_name[name], clusters)
            self._add_false_blame(world, night, truth, name, clusters)

    def _add_page(self, world: World, night: Night, truth: Expected, said: DeviceVerdict) -> None:
        self.pages[truth.verdict.value] += 1
        if said.verdict is truth.verdict:
            self.right[truth.verdict.value] += 1
            self.since += said.verdict_since == world.planned_at(truth.since)
            if said.verdict_since != world.planned_at(truth.since):
                self.mistakes.append(
                    f"night {night.number}: {said.device} since {said.verdict_since}, not night {truth.since}"
                )
        else:
            self.mistakes.append(
                f"night {night.number}: {said.device} is {said.verdict.value}, not {truth.verdict.value}: {said.reason}"
            )
        self.false_alarms += said.verdict in BROKEN and truth.verdict not in BROKEN
        well = (VerdictName.OK, VerdictName.KNOWN, VerdictName.UNSTABLE)
        self.missed_alarms += truth.verdict in BROKEN and said.verdict in well
        meant = {test for changes in truth.changes.values() for test in changes}
        alarms = {item.id for item in said.changes if item.change in ALARMS and not item.known}
        self.false_changes += len(alarms - meant - truth.failing)

    def _add_news(
        self, world: World, night: Night, truth: Expected, said: DeviceVerdict, clusters: Sequence[Cluster]
    ) -> None:
        for event in truth.news:
            tally = self.kinds.setdefault(event.kind.value, Tally())
            tally.told += 1
            tally.verdict += said.verdict is truth.verdict
            right = _changed(said.changes, truth.changes.get(event.number, {}))
            tally.changes += right
            if not right:
                self.mistakes.append(f"night {night.number}: {said.device}: {event.kind.value}: wrong tests")
            meant = truth.blames.get(event.number, Blame.NOBODY)
            if meant is not Blame.NOBODY:
                tally.blamed += 1
                blame = blame_of(said, clusters, event, {world.test_ids[test] for test in event.tests})
                tally.blame += blame is meant
                if blame is not meant:
                    self.mistakes.append(f"night {night.number}: {said.device}: {event.kind.value}: blames {blame}")
        for event in truth.mended:
            self.mended.told += 1
            self.mended.verdict += said.verdict is truth.verdict
            self.mended.changes += _changed(said.changes, truth.changes.get(event.number, {}))

    def _add_false_blame(
        self, world: World, night: Night, truth: Expected, name: str, clusters: Sequence[Cluster]
    ) -> None:
        """Count what is new on a device and laid to somebody's charge, although nobody did anything to those tests."""
        events = [event for event in world.events if truth.device in event.devices and event.on(night.number)]
        guilty = [event for event in events if event.blame is not Blame.NOBODY]
        at_fault = {world.test_ids[test] for event in guilty for test in event.tests}
        at_fault |= {stage for event in guilty for stage in STAGES.get(event.kind, ())}
        for cluster in clusters:
            part = next(part for part in cluster.devices if part.device == name)
            if part.new and cluster.cause in CHARGES and at_fault.isdisjoint(part.first):
                self.false_blame += 1
                self.mistakes.append(f"night {night.number}: {name}: {cluster.cause.value}, falsely: {part.first[0]}")

    def numbers(self) -> dict[str, dict[str, int]]:
        """Every number; of all but those under ``wrong``, more is better."""
        found = {kind: _numbers(tally) for kind, tally in sorted(self.kinds.items())}
        pages = {name: self.right[name] for name in sorted(self.pages)}
        return {
            **found,
            "over": _numbers(self.mended),
            "pages": {**pages, "since": self.since},
            "wrong": {
                "false alarms": self.false_alarms,
                "missed alarms": self.missed_alarms,
                "false changes": self.false_changes,
                "false blame": self.false_blame,
            },
        }

    def table(self) -> str:
        """All of it, for people."""
        rows = [_row("what was to be told", "told", "verdict", "tests", "blame", "of")]
        tallies = [*sorted(self.kinds.items()), ("over", self.mended)]
        rows += [_row(kind, it.told, it.verdict, it.changes, it.blame, it.blamed) for kind, it in tallies]
        rows += ["", _row("pages that should say", "pages", "right")]
        rows += [_row(name.value, self.pages[name.value], self.right[name.value]) for name in VerdictName]
        rows += [_row("all", self.pages.total(), self.right.total()), _row("right since when", "", self.since)]
        rows += ["", _row("false alarms", self.false_alarms), _row("missed alarms", self.missed_alarms)]
        rows += [_row("tests falsely called newly failing", self.false_changes)]
        return "\n".join([*rows, _row("clusters laid falsely to somebody", self.false_blame)])


def worse(now: dict[str, dict[str, int]], best: dict[str, dict[str, int]]) -> list[str]:
    """Every number that is worse than it was, in words."""
    found = []
    for group, numbers in best.items():
        for name, value in numbers.items():
            is_now = now.get(group, {}).get(name, 0)
            if (is_now > value) if group == "wrong" else (is_now < value):
                found.append(f"{group}, {name}: {is_now}, was {value}")
    return found


def text_of(numbers: dict[str, dict[str, int]]) -> str:
    """The numbers as they are kept."""
    return json.dumps(numbers, indent=1) + "\n"


def blame_of(said: DeviceVerdict, clusters: Sequence[Cluster], event: Event, tests: Container[str]) -> Blame | None:
    """Whom a page blames for an event; None when it blames nobody, or several.

    Args:
        said: the page.
        clusters: those that the device is in.
        event: the event.
        tests: the ids of its tests.

    """
    stages = STAGES.get(event.kind, ())
    names = {item.signature for item in said.changes if item.id in tests}
    mine = [item for item in clusters if item.signature.id in names or _breaks(item, said.device, stages)]
    found = {BLAMES.get(item.cause) for item in mine}
    return found.pop() if len(found) == 1 else None


def _breaks(cluster: Cluster, device: str, stages: Container[str]) -> bool:
    return any(part.device == device and part.first[0] in stages for part in cluster.devices)


def _changed(said: Sequence[Change], expected: dict[str, ChangeName]) -> bool:
    found = {item.id: item.change for item in said}
    return all(found.get(test) is change for test, change in expected.items())


def _numbers(tally: Tally) -> dict[str, int]:
    return {"told": tally.told, "verdict": tally.verdict, "tests": tally.changes, "blame": tally.blame}


def _row(*cells: object) -> str:
    padded = [
        f"{cell!s:<{width}}" if index == 0 else f"{cell!s:>{width}}"
        for index, (cell, width) in enumerate(zip(cells, WIDTHS, strict=False))
    ]
    return "".join(padded).rstrip()
