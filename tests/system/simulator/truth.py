"""What the page of each night has to say, from what was planted and from what had been reported by then."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache

from ootci.model.build import StageName
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.verdict import AS_EXPECTED, BROKEN, ChangeName, VerdictName

from .causes import Cause
from .condition import ABSENT, BREAKS, CODE, PASSED, Condition
from .event import Acceptance, Blame, Event, Kind
from .fleet import Tier
from .page import Expected, Page, Shared
from .texts import cause_of
from .world import World

_STOPPED = {
    StageName.FETCH: VerdictName.INFRA,
    StageName.CHECK: VerdictName.INFRA,
    StageName.BUILD: VerdictName.BUILD_BROKEN,
    StageName.IMPORT: VerdictName.IMPORT_BROKEN,
}
_FEWER = (Kind.LOST_TESTS, Kind.REMOVED_TESTS, Kind.SKIPPED_TESTS)
_CHANCE = (Kind.FLAKY, Kind.FLAKY_TWICE)
_NO_NEWS = (*_CHANCE, Kind.REFUSED)
"""What makes tests fail and says nothing of PyTorch or the plugin."""
_WELL = (VerdictName.OK, VerdictName.KNOWN, VerdictName.UNSTABLE)
"""Verdicts of a device on which nothing is broken."""
_RAN = frozenset(CODE[name] for name in (*FAILURES, OutcomeName.PASSED, OutcomeName.XFAILED, OutcomeName.XPASSED))
UNSEEN = 3
"""So many nights a failure may go unseen on a device that is silent."""
_SILENT = (VerdictName.PAUSED, VerdictName.NEVER_RAN, VerdictName.NO_DATA, VerdictName.INFRA)
"""Verdicts of a device that has no result on a night."""


@dataclass(frozen=True)
class _Known:
    """What had been seen of a device before a night.

    Attributes:
        reported: whether it ever reported.
        base: how it was when its suites last reported completely; None before.
        baseline: the tests that should run.
        fewer: the events by which tests were lost, as seen then.
        stop: what stopped it on the night before, if anything did.

    """

    reported: bool = False
    base: Condition | None = None
    baseline: frozenset[int] = frozenset()
    fewer: frozenset[int] = frozenset()
    stop: int | None = None


@dataclass(frozen=True)
class _Past:
    """A night of a device's strip."""

    night: int
    expected: Expected
    known: _Known
    streak: int | None = None


class Truth:
    """What the pages have to say, page by page.

    Args:
        world: the invented world.

    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._of = [[event for event in world.events if device in event.devices] for device in range(len(world.makers))]
        self._at = cache(world.condition)
        self._nights = [night for night in range(world.nights) if not world.meets(Kind.GAP, night)]

    def pages(self) -> Iterator[Page]:
        """What the page of each nightly has to say."""
        strips: list[list[_Past]] = [[] for _ in self._world.makers]
        for night in self._nights:
            self._forget(strips, night)
            devices = tuple(
                self._device(device, night, strips[device])
                for device in range(len(self._world.makers))
                if self._at(device, night).registered
            )
            yield Page(devices, tuple(self._shared(night)), self._gate(devices, night))

    def _forget(self, strips: list[list[_Past]], night: int) -> None:
        """Begin a strip anew where a late report changed what was known; the reference's report concerns every one."""
        for event in self._world.events:
            if event.kind is Kind.LATE and event.first + event.delay == night:
                for strip in strips if 0 in event.devices else [strips[device] for device in event.devices]:
                    strip[:] = [past for past in strip if past.night < event.first]

    def _device(self, device: int, night: int, strip: list[_Past]) -> Expected:
        """Continue a device's strip of nights up to one."""
        done = strip[-1].night if strip else -1
        for number in self._nights:
            condition = self._at(device, number) if done < number <= night else None
            if condition is not None and condition.registered:
                known = strip[-1].known if strip else _Known()
                expected, known = self._night(condition, known, by=night)
                strip.append(self._dated(_Past(number, expected, known), strip))
        return strip[-1].expected

    def _dated(self, new: _Past, strip: list[_Past]) -> _Past:
        """The night with its two dates; nights on which a release stood in are no part of any row."""
        told = new.expected
        before = next((past.expected for past in reversed(strip) if not past.expected.stands_in), None)
        verdict_since, broken_since = new.night, None
        if before is not None and before.verdict is told.verdict:
            verdict_since = before.verdict_since
        if told.stands_in or told.verdict not in AS_EXPECTED:
            broken_since = next((past.streak for past in reversed(strip)), None)
        if not told.stands_in and broken_since is None and told.verdict in BROKEN:
            broken_since = new.night
        good = before.good if before is not None and told.verdict not in BROKEN else 0
        good += told.verdict in _WELL and not told.stands_in
        shown = None if told.verdict is VerdictName.PAUSED else broken_since
        dated = replace(told, verdict_since=verdict_since, broken_since=shown, good=good)
        return replace(new, expected=dated, streak=broken_since)

    def _night(self, condition: Condition, known: _Known, *, by: int) -> tuple[Expected, _Known]:
        blank = Expected(condition.device, VerdictName.OK, condition.night)
        if condition.paused:
            return replace(blank, verdict=VerdictName.PAUSED), replace(known, stop=None)
        if not _arrived(condition, by):
            silent = VerdictName.NO_DATA if known.reported else VerdictName.NEVER_RAN
            return replace(blank, verdict=silent), replace(known, stop=None)
        if condition.fallback is not None:
            # It is shown as if nothing had been reported before, and nothing is learnt from it.
            shown = self._tests(condition, _Known(), blank, by)
            verdict = replace(blank, verdict=shown.verdict, failing=shown.failing, stands_in=True)
            return verdict, replace(known, reported=True)
        after = replace(known, reported=True, stop=None)
        if condition.stop is not None:
            verdict = _STOPPED[BREAKS[condition.stop.kind]]
            built = verdict is VerdictName.IMPORT_BROKEN
            news = () if known.stop == condition.stop.number or verdict is VerdictName.INFRA else (condition.stop,)
            blames = {event.number: self._blame(event, condition, known.base, built=built) for event in news}
            by_it = frozenset({condition.stop.number} if verdict in BROKEN else ())
            told = replace(blank, verdict=verdict, news=news, blames=blames, broken_by=by_it)
            return told, replace(after, stop=condition.stop.number)
        if condition.empty is not None:
            return replace(blank, verdict=VerdictName.NO_DATA, empty=True), after
        baseline = known.baseline - self._accepted(condition, known.baseline, by)
        expected = self._tests(condition, replace(known, baseline=baseline), blank, by)
        return expected, after if condition.cut else self._seen(condition, replace(after, baseline=baseline))

    def _accepted(self, condition: Condition, baseline: frozenset[int], by: int) -> frozenset[int]:
        """The tests whose loss is accepted on a night: by the device file, or because the reference lost them too."""
        night = condition.night
        said = {
            test
            for event in self._of[condition.device]
            if event.kind is Kind.REMOVED_TESTS
            or (event.accepted and event.accepted[0] is not Acceptance.REFERENCE and night >= event.accepted[1])
            for test in event.tests
            if event.on(night)
        }
        reference = self._at(0, night)
        complete = not (reference.stop or reference.cut or reference.empty or reference.fallback)
        if complete and _arrived(reference, by):
            said |= {
                test
                for test in baseline
                if reference.codes[test] == condition.codes[test] == ABSENT and self._is_witness(condition, test)
            }
        return frozenset(said)

    def _is_witness(self, condition: Condition, test: int) -> bool:
        """Whether the reference tells anything of a loss; its own loss is told by the test's having a new name only."""
        renamed = any(event.kind is Kind.RENAME and test in event.tests for event in self._of[condition.device])
        return condition.device != 0 or renamed

    def _seen(self, condition: Condition, after: _Known) -> _Known:
        fewer = [
            event.number for event in self._of[condition.device] if event.kind in _FEWER and event.on(condition.night)
        ]
        ran = frozenset(test for test, code in enumerate(condition.codes) if code in _RAN)
        return replace(after, base=condition, baseline=after.baseline | ran, fewer=frozenset(fewer))

    def _tests(self, condition: Condition, known: _Known, blank: Expected, by: int) -> Expected:
        night = condition.night
        unknown = [event for event in condition.failing if not event.known_on(night) and event.kind not in _NO_NEWS]
        seen = {event.number for event in known.base.failing} if known.base else set()
        broken = [event for event in unknown if event.number not in seen]
        fewer = [
            event
            for event in self._of[condition.device]
            if event.kind in _FEWER and event.on(night) and event.number not in known.fewer and known.base
        ]
        lost = any(condition.codes[test] not in _RAN for test in known.baseline)
        verdict = self._verdict(condition, unknown, broken if known.base else [], lost=lost)
        news, mended = self._told(condition, known.base, (*broken, *fewer))
        ids = self._world.test_ids
        return replace(
            blank,
            verdict=verdict,
            news=news,
            mended=mended,
            changes={event.number: self._changes(event, condition, known.base) for event in (*news, *mended)},
            blames={event.number: self._blame(event, condition, known.base) for event in news},
            broken_by=frozenset(event.number for event in unknown),
            failing=frozenset(ids[test] for test, event in condition.causes.items() if event.kind not in _CHANCE),
            rows={
                event.tests[0]: self._row(event, condition.device, night, by)
                for event in unknown
                if event.blame is not Blame.NOBODY and not condition.cut
            },
        )

    def _verdict(self, condition: Condition, unknown: list[Event], broken: list[Event], *, lost: bool) -> VerdictName:
        cases, kinds = self._world.cases, {event.kind for event in condition.causes.values()}
        if Kind.REFUSED in kinds and not unknown:
            return VerdictName.INFRA
        if any(cases[test].suite == "smoke" for event in unknown for test in event.tests):
            return VerdictName.SMOKE_BROKEN
        if broken:
            return VerdictName.REGRESSED
        if lost or condition.cut:
            return VerdictName.LOST_TESTS
        if unknown:
            return VerdictName.FAILING
        if kinds.intersection(_CHANCE):
            return VerdictName.UNSTABLE
        return VerdictName.KNOWN if condition.failing else VerdictName.OK

    def _told(
        self, condition: Condition, base: Condition | None, bad: tuple[Event, ...]
    ) -> tuple[tuple[Event, ...], tuple[Event, ...]]:
        """What there is to tell for the first time, and what is over."""
        if base is None:
            return (), ()
        if condition.cut is not None:
            return (condition.cut,), ()
        others = [
            event
            for event in self._of[condition.device]
            if event.kind in (Kind.RENAME, Kind.NEW_TESTS) and base.night < event.first <= condition.night
        ]
        over = [event for event in base.failing if event not in condition.failing]
        return (*bad, *others), tuple(over)

    def _blame(self, event: Event, condition: Condition, base: Condition | None, *, built: bool = True) -> Blame:
        """Whose fault something is, from what changed since it was well; ``built`` says whether the plugin is known."""
        if event.blame is Blame.NOBODY:
            return Blame.NOBODY
        shown = [device for device in event.devices if self._arrived_on(device, condition.night)]
        if event.blame is Blame.UPSTREAM and len(shown) > 1:
            return Blame.UPSTREAM
        before = base.night if base is not None else -1
        if any(self._coincides(event, other, before, condition.night) for other in self._world.events):
            return Blame.NOBODY
        if base is None or not built:
            return Blame.UNCLEAR
        device, nights = condition.device, (base.night, condition.night)
        torch = len({self._world.builds.torch(device, night).git_version for night in nights}) > 1
        plugin = len({self._world.builds.plugin(device, night).commit for night in nights}) > 1
        return {(True, False): Blame.SUSPECTED, (False, True): Blame.PLUGIN}.get((torch, plugin), Blame.UNCLEAR)

    def _arrived_on(self, device: int, night: int) -> bool:
        return _arrived(self._at(device, night), night)

    def _coincides(self, event: Event, other: Event, last_passed: int, night: int) -> bool:
        """Whether another device began to fail in the same test or stage at about that time, which misleads anybody."""
        stages = BREAKS.get(event.kind), BREAKS.get(other.kind)
        same = not set(event.tests).isdisjoint(other.tests) or (stages[0] is not None and stages[0] is stages[1])
        elsewhere = other.blame is not Blame.NOBODY and set(other.devices) != set(event.devices)
        return same and elsewhere and last_passed - UNSEEN <= other.first <= night + UNSEEN

    def _changes(self, event: Event, condition: Condition, base: Condition | None) -> dict[str, ChangeName]:
        found: dict[str, ChangeName] = {}
        for test in event.tests if base else ():
            change = _change(base.codes[test] if base else ABSENT, condition.codes[test])
            if change is not None:
                found[self._world.test_ids[test]] = change
        return found

    def _shared(self, night: int) -> Iterator[Shared]:
        """What PyTorch broke on several devices, and the nights between which it can have happened."""
        for event in self._world.events:
            if event.blame is Blame.UPSTREAM and event.tests and event.on(night):
                shown = [device for device in event.devices if self._tells(event, device, night, night)]
                rows = [self._row(event, device, night, night) for device in shown]
                if len(rows) > 1:
                    passed = max((last for last, _ in rows if last is not None), default=None)
                    alone = not any(self._is_like(event, other) for other in self._failing(night))
                    yield Shared(event, tuple(shown), passed, min(first for _, first in rows), alone)

    def _failing(self, night: int) -> set[Event]:
        """Everything that makes a test fail on a night."""
        return {event for device in range(len(self._world.makers)) for event in self._at(device, night).causes.values()}

    def _is_like(self, event: Event, other: Event) -> bool:
        """Whether another event has an error, or a test, of an event."""
        mine, others = self._errors(event), self._errors(other)
        return event != other and (bool(mine & others) or not set(event.tests).isdisjoint(other.tests))

    def _errors(self, event: Event) -> set[Cause]:
        capability = self._world.cases[event.tests[0]].capability
        return {cause_of(event, capability, self._world.makers[device].name) for device in event.devices}

    def _row(self, event: Event, device: int, night: int, by: int) -> tuple[int | None, int]:
        """The last night before an event on which its tests passed, None where they never did, and the first after."""
        told = [number for number in self._nights if number <= night and self._tells(event, device, number, by)]
        last = max((number for number in told if number < event.first), default=None)
        return last, min(number for number in told if number >= event.first)

    def _tells(self, event: Event, device: int, night: int, by: int) -> bool:
        """Whether a device reported on a night what came of an event's first test."""
        found = self._at(device, night)
        ran = found.stop is None and found.fallback is None and _arrived(found, by)
        return ran and found.codes[event.tests[0]] in _RAN

    def _gate(self, devices: Collection[Expected], night: int) -> str:
        """The gate's answer: the rule of design, of what the devices' verdicts have to be."""
        makers = self._world.makers
        gating = [item for item in devices if makers[item.device].tier in (Tier.REFERENCE, Tier.GATING)]
        asked = [item for item in gating if item.verdict is not VerdictName.PAUSED]
        told = [item for item in asked if not item.stands_in and (item.empty or item.verdict not in _SILENT)]
        reference = any(makers[item.device].tier is Tier.REFERENCE for item in told)
        if self._world.meets(Kind.FUTURE, night) or not reference or 2 * len(told) < len(asked):
            return "cannot_say"
        # A report without tests lost all of them.
        return "no" if any(item.empty or item.verdict in BROKEN for item in told) else "yes"


def _arrived(condition: Condition, by: int) -> bool:
    return condition.arrives is not None and condition.arrives <= by


_FAILED = frozenset(CODE[name] for name in FAILURES)


def _change(before: int, after: int) -> ChangeName | None:
    """How a test changed that something happened to; None where nothing is to be told of it."""
    if before == ABSENT or after == ABSENT:
        if before == after:
            return None
        if after == ABSENT:
            return ChangeName.DISAPPEARED
        return ChangeName.NEW_FAILURE if after in _FAILED else ChangeName.APPEARED
    if before == PASSED and after in _FAILED:
        return ChangeName.REGRESSION
    return ChangeName.FIXED if before in _FAILED and after == PASSED else None
