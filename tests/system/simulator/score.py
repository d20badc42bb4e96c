"""How right a judge is about the invented world."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ootci.model.cluster import Cause, Cluster
from ootci.model.verdict import BROKEN, Change, ChangeName, DeviceVerdict, VerdictName, Verdicts

from .event import JUDGING, Blame, Event, Kind
from .fleet import Tier
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
class Told:
    """How often something was to be told, and how often it was told rightly."""

    all: int = 0
    right: int = 0

    def add(self, *, right: bool) -> bool:
        """Count one more."""
        self.all += 1
        self.right += right
        return right


@dataclass
class Score:
    """How right a judge is.

    Attributes:
        kinds: what was to be told, by kind: on the right night, with the right verdict, tests and blame.
        mended: what was over, in the same terms.
        pages: pages of one device on one night, by the verdict that they should have.
        right: those that have it.
        verdict_since: those that have it and say since when rightly.
        broken_since: those that have it and say rightly since when the device is broken, or that it is not.
        rows: what fails for a reason, on every night: how often it had to be dated, and was dated rightly.
        shared: failures of several devices, on every night: how many there were, and were one cluster, rightly dated.
        gate: pages, and those on which the gate's answer is right.
        trials: by number, the planted events that every page has to be right about, with what was wrong.
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
    verdict_since: int = 0
    broken_since: int = 0
    rows: Told = field(default_factory=lambda: Told())
    shared: Told = field(default_factory=lambda: Told())
    gate: Told = field(default_factory=lambda: Told())
    trials: dict[int, tuple[Kind, list[str]]] = field(default_factory=dict)
    false_alarms: int = 0
    missed_alarms: int = 0
    false_changes: int = 0
    false_blame: int = 0
    mistakes: list[str] = field(default_factory=list)

    def add(self, world: World, night: Night, page: Page, said: Verdicts) -> None:
        """Hold one night's page against the truth."""
        by_name = {item.device: item for item in said.devices}
        if not self.gate.add(right=said.gate.answer == page.gate):
            gating = tuple(place for place, maker in enumerate(world.makers) if maker.tier is not Tier.ADVISORY)
            text = f"the gate says {said.gate.answer}, not {page.gate}: {said.gate.reason}"
            self._wrong(world, night, gating, text)
        self._begin(world, night)
        for truth in page.devices:
            name = world.makers[truth.device].name
            clusters = [item for item in said.clusters if any(part.device == name for part in item.devices)]
            self._add_page(world, night, truth, by_name[name])
            self._add_rows(world, night, truth, by_name[name])
            self._add_news(world, night, truth, by_name[name], clusters)
            self._add_false_blame(world, night, truth, name, clusters)
        for shared in page.shared:
            self._add_shared(world, night, shared, said.clusters)

    def _begin(self, world: World, night: Night) -> None:
        for event in world.events:
            if event.kind in JUDGING and event.first <= night.number:
                self.trials.setdefault(event.number, (event.kind, []))

    def _wrong(self, world: World, night: Night, devices: Sequence[int], text: str) -> None:
        """Note a mistake, also for each planted event that it may come from."""
        mistake = f"night {night.number}: {text}"
        self.mistakes.append(mistake)
        for event in world.events:
            mine = not set(devices).isdisjoint(event.devices)
            if event.kind in JUDGING and mine and event.first <= night.number <= _over(event):
                self.trials.setdefault(event.number, (event.kind, []))[1].append(mistake)

    def _add_page(self, world: World, night: Night, truth: Expected, said: DeviceVerdict) -> None:
        self.pages[truth.verdict.value] += 1
        devices = (truth.device,)
        if said.verdict is truth.verdict:
            self.right[truth.verdict.value] += 1
            wanted = (world.planned_at(truth.verdict_since), _date(world, truth.broken_since))
            for name, when in zip(("verdict_since", "broken_since"), wanted, strict=True):
                found = getattr(said, name)
                setattr(self, name, getattr(self, name) + (found == when))
                if found != when:
                    self._wrong(world, night, devices, f"{said.device}: {name} {_day(found)}, not {_day(when)}")
        else:
            what = f"{said.device} is {said.verdict.value}, not {truth.verdict.value}: {said.reason}"
            self._wrong(world, night, devices, what)
        self.false_alarms += said.verdict in BROKEN and truth.verdict not in BROKEN
        well = (VerdictName.OK, VerdictName.KNOWN, VerdictName.UNSTABLE)
        self.missed_alarms += truth.verdict in BROKEN and said.verdict in well
        meant = {test for changes in truth.changes.values() for test in changes}
        # Those that are told apart as flaky, or as a host that is not reached, are not counted.
        told = said.changes if said.new_failures else ()
        alarms = {item.id for item in told if item.change in ALARMS and not item.known}
        self.false_changes += len(alarms - meant - truth.failing)

    def _add_rows(self, world: World, night: Night, truth: Expected, said: DeviceVerdict) -> None:
        """Whether each failure's row begins where it does, and whether the tests passed last where they did."""
        places = {item.id: item.streak for item in said.changes if item.streak is not None}
        for test, row in truth.rows.items():
            place = places.get(world.test_ids[test])
            streak = said.streaks[place] if place is not None else None
            found = (streak.last_passed, streak.first_failed) if streak is not None else (None, None)
            ids = tuple(mark.plan_id if mark is not None else None for mark in found)
            if not self.rows.add(right=ids == tuple(_plan(world, number) for number in row)):
                text = f"{said.device}: {world.test_ids[test]} began between {ids}, not nights {row}"
                self._wrong(world, night, (truth.device,), text)

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
            if mine and not self.shared.add(right=right):
                found = [(item.cause.value, len(item.devices), item.since.plan_id, item.commits) for item in mine]
                self._wrong(world, night, shared.devices, f"{what}: {test}: not one cluster with that range: {found}")

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
                self._wrong(world, night, (truth.device,), f"{said.device}: {event.kind.value}: wrong tests")
            meant = truth.blames.get(event.number, Blame.NOBODY)
            if meant is not Blame.NOBODY:
                tally.blamed += 1
                blame = blame_of(said, clusters, event, {world.test_ids[test] for test in event.tests})
                tally.blame += blame is meant
                if blame is not meant:
                    text = f"{said.device}: {event.kind.value}: blames {blame}, not {meant}"
                    self._wrong(world, night, (truth.device,), text)
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
        # Nobody can tell whether PyTorch or a plugin kept a suite from coming to its end, or from beginning.
        at_fault |= {stage for event in events for stage in STAGES.get(event.kind, ())}
        for cluster in clusters:
            part = next(part for part in cluster.devices if part.device == name)
            if part.new and cluster.cause in CHARGES and at_fault.isdisjoint(part.first):
                self.false_blame += 1
                text = f"{name}: {cluster.cause.value}, falsely: {part.first[0]}"
                self._wrong(world, night, (truth.device,), text)

    def table(self) -> str:
        """All of it, for people."""
        rows = [_row("what was to be told", "told", "verdict", "tests", "blame", "of")]
        tallies = [*sorted(self.kinds.items()), ("over", self.mended)]
        rows += [_row(kind, it.told, it.verdict, it.changes, it.blame, it.blamed) for kind, it in tallies]
        rows += ["", _row("pages that should say", "pages", "right")]
        rows += [_row(name.value, self.pages[name.value], self.right[name.value]) for name in VerdictName]
        rows += [
            _row("all", self.pages.total(), self.right.total()),
            _row("right verdict_since", "", self.verdict_since),
        ]
        rows += [_row("right broken_since", "", self.broken_since)]
        rows += [_row("failures rightly dated", self.rows.all, self.rows.right)]
        rows += [_row("shared failures in one cluster", self.shared.all, self.shared.right)]
        rows += [_row("right answers of the gate", self.gate.all, self.gate.right)]
        rows += ["", _row("false alarms", self.false_alarms), _row("missed alarms", self.missed_alarms)]
        rows += [_row("tests falsely called newly failing", self.false_changes)]
        rows += [_row("clusters laid falsely to somebody", self.false_blame)]
        rows += ["", _row("events judged rightly on every page", "events", "right")]
        planted = Counter(kind.value for kind, _ in self.trials.values())
        right = Counter(kind.value for kind, wrong in self.trials.values() if not wrong)
        return "\n".join([*rows, *(_row(kind, planted[kind], right[kind]) for kind in sorted(planted))])

    def missed(self, world: World) -> list[str]:
        """The planted events that a page was wrong about, with the first thing that was wrong."""
        return [
            f"{kind.value}, nights {world.events[number].first} to {_over(world.events[number])}: {wrong[0]}"
            for number, (kind, wrong) in sorted(self.trials.items())
            if wrong
        ]


def _over(event: Event) -> int:
    """The first night on which a page says no more of an event than that it is over."""
    return (event.accepted[1] if event.accepted else event.last + 1) + event.delay


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


def _row(*cells: object) -> str:
    padded = [
        f"{cell!s:<{width}}" if index == 0 else f"{cell!s:>{width}}"
        for index, (cell, width) in enumerate(zip(cells, WIDTHS, strict=False))
    ]
    return "".join(padded).rstrip()
