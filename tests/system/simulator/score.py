"""How right a judge is about the invented world."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ootci.model.cluster import Cause, Cluster
from ootci.model.verdict import Change, ChangeName, DeviceVerdict, Verdicts

from .event import Blame, Event, Kind
from .page import Expected, Page, Shared
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
    Kind.CUT_REPORT: ("integration",),
    Kind.EMPTY_REPORT: ("integration",),
}
"""The stages that break where no test does."""


@dataclass
class Score:
    """How right a judge is.

    Attributes:
        mistakes: what was wrong, for people; a judge that is right on every page has made none.

    """

    mistakes: list[str] = field(default_factory=list)

    def add(self, world: World, night: Night, page: Page, said: Verdicts) -> None:
        """Hold one night's page against the truth."""
        by_name = {item.device: item for item in said.devices}
        if said.gate.answer != page.gate:
            self._wrong(night, f"the gate says {said.gate.answer}, not {page.gate}: {said.gate.reason}")
        for truth in page.devices:
            name = world.makers[truth.device].name
            clusters = [item for item in said.clusters if any(part.device == name for part in item.devices)]
            self._add_page(world, night, truth, by_name[name])
            self._add_rows(world, night, truth, by_name[name])
            self._add_news(world, night, truth, by_name[name], clusters)
            self._add_false_blame(world, night, truth, name, clusters)
        for shared in page.shared:
            self._add_shared(world, night, shared, said.clusters)

    def _wrong(self, night: Night, text: str) -> None:
        self.mistakes.append(f"night {night.number}: {text}")

    def _add_page(self, world: World, night: Night, truth: Expected, said: DeviceVerdict) -> None:
        if said.verdict is truth.verdict:
            wanted = (world.planned_at(truth.verdict_since), _date(world, truth.broken_since))
            for name, when in zip(("verdict_since", "broken_since"), wanted, strict=True):
                if (found := getattr(said, name)) != when:
                    self._wrong(night, f"{said.device}: {name} {_day(found)}, not {_day(when)}")
        else:
            self._wrong(night, f"{said.device} is {said.verdict.value}, not {truth.verdict.value}: {said.reason}")
        meant = {test for changes in truth.changes.values() for test in changes}
        # Those that are told apart as flaky, or as a host that is not reached, are not counted.
        told = said.changes if said.new_failures else ()
        alarms = {item.id for item in told if item.change in ALARMS and not item.known}
        for test in sorted(alarms - meant - truth.failing):
            self._wrong(night, f"{said.device}: {test} is called newly failing, and only chance happened to it")

    def _add_rows(self, world: World, night: Night, truth: Expected, said: DeviceVerdict) -> None:
        """Whether each failure's row begins where it does, and whether the tests passed last where they did."""
        places = {item.id: item.streak for item in said.changes if item.streak is not None}
        for test, row in truth.rows.items():
            place = places.get(world.test_ids[test])
            streak = said.streaks[place] if place is not None else None
            found = (streak.last_passed, streak.first_failed) if streak is not None else (None, None)
            ids = tuple(mark.plan_id if mark is not None else None for mark in found)
            if ids != tuple(_plan(world, number) for number in row):
                self._wrong(night, f"{said.device}: {world.test_ids[test]} began between {ids}, not nights {row}")

    def _add_shared(self, world: World, night: Night, shared: Shared, clusters: Sequence[Cluster]) -> None:
        """Whether a failure of several devices is one cluster, with the tightest range that they allow."""
        names = {world.makers[device].name for device in shared.devices}
        ends = [
            world.builds.torch(shared.devices[0], number).git_version or ""
            for number in (shared.last_passed, shared.first_failed)
            if number is not None
        ]
        commits = "...".join(f"{commit:.7}" for commit in ends) if len(ends) > 1 else None
        what = f"{shared.event.kind.value} on {', '.join(sorted(names))} since night {shared.first_failed}, {commits}"
        for test in (world.test_ids[place] for place in shared.event.tests):
            # A cluster names some of its tests only.
            mine = [
                item for item in clusters if any(part.device in names and test in part.first for part in item.devices)
            ]
            right = len(mine) == 1 and names <= {part.device for part in mine[0].devices}
            if right and shared.alone:
                since, reason = mine[0].since.plan_id, mine[0].reason
                right = (since, mine[0].commits) == (world.plan_id(shared.first_failed), commits)
                right &= "only this device" not in reason
            if mine and not right:
                found = [(item.cause.value, len(item.devices), item.since.plan_id, item.commits) for item in mine]
                self._wrong(night, f"{what}: {test}: not one cluster with that range: {found}")

    def _add_news(
        self, world: World, night: Night, truth: Expected, said: DeviceVerdict, clusters: Sequence[Cluster]
    ) -> None:
        for event in (*truth.news, *truth.mended):
            if not _changed(said.changes, truth.changes.get(event.number, {})):
                self._wrong(night, f"{said.device}: {event.kind.value}: wrong tests")
        for event in truth.news:
            meant = truth.blames.get(event.number, Blame.NOBODY)
            if meant is not Blame.NOBODY:
                blame = blame_of(said, clusters, event, {world.test_ids[test] for test in event.tests})
                if blame is not meant:
                    self._wrong(night, f"{said.device}: {event.kind.value}: blames {blame}, not {meant}")

    def _add_false_blame(
        self, world: World, night: Night, truth: Expected, name: str, clusters: Sequence[Cluster]
    ) -> None:
        """Note what is new on a device and laid to somebody's charge, although nobody did anything to those tests."""
        events = [event for event in world.events if truth.device in event.devices and event.on(night.number)]
        guilty = [event for event in events if event.blame is not Blame.NOBODY]
        at_fault = {world.test_ids[test] for event in guilty for test in event.tests}
        # Nobody can tell whether PyTorch or a plugin kept a suite from coming to its end, or from beginning.
        at_fault |= {stage for event in events for stage in STAGES.get(event.kind, ())}
        for cluster in clusters:
            part = next(part for part in cluster.devices if part.device == name)
            if part.new and cluster.cause in CHARGES and at_fault.isdisjoint(part.first):
                self._wrong(night, f"{name}: {cluster.cause.value}, falsely: {part.first[0]}")


def _date(world: World, night: int | None) -> datetime | None:
    return None if night is None else world.planned_at(night)


def _plan(world: World, night: int | None) -> str | None:
    return None if night is None else world.plan_id(night)


def _day(when: datetime | None) -> str:
    return "never" if when is None else f"{when:%Y-%m-%d}"


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
