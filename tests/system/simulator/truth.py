"""What the page of each night has to say, from what was planted and from what had been reported by then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ootci.model.build import StageName
from ootci.model.outcome import FAILURES
from ootci.model.verdict import ChangeName, VerdictName

from .condition import ABSENT, BREAKS, CODE, PASSED, Condition
from .event import Blame, Event, Kind
from .world import World

_STOPPED = {
    StageName.FETCH: VerdictName.INFRA,
    StageName.CHECK: VerdictName.INFRA,
    StageName.BUILD: VerdictName.BUILD_BROKEN,
    StageName.IMPORT: VerdictName.IMPORT_BROKEN,
}
_FEWER = (Kind.LOST_TESTS, Kind.SKIPPED_TESTS)


@dataclass(frozen=True)
class Expected:
    """What the page of a night has to say of one device.

    Attributes:
        device: its place in the registry.
        verdict: its verdict.
        since: the first night of the unbroken row of nights with that verdict.
        news: what has to be told on this very page, because it shows for the first time.
        mended: what is over, as this page shows for the first time.
        changes: for each of both, by its number, the tests that it changed and how, by id.
        blames: for each piece of news, whose fault it is as far as the reports can tell.
        failing: ids of all tests that really fail.

    """

    device: int
    verdict: VerdictName
    since: int
    news: tuple[Event, ...] = ()
    mended: tuple[Event, ...] = ()
    changes: dict[int, dict[str, ChangeName]] = field(default_factory=dict)
    blames: dict[int, Blame] = field(default_factory=dict)
    failing: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Known:
    """What had been seen of a device before a night.

    Attributes:
        reported: whether it ever reported.
        base: how it was when its suites last reported completely; None before.
        fewer: the events by which tests were lost, as seen then.
        stop: what stopped it on the night before, if anything did.

    """

    reported: bool = False
    base: Condition | None = None
    fewer: frozenset[int] = frozenset()
    stop: int | None = None


class Truth:
    """What the pages have to say, page by page.

    Args:
        world: the invented world.

    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._of = [[event for event in world.events if device in event.devices] for device in range(len(world.makers))]

    def pages(self) -> Iterator[tuple[Expected, ...]]:
        """What the page of each night has to say, of every registered device."""
        strips: list[list[tuple[Expected, _Known]]] = [[] for _ in self._world.makers]
        for night in range(self._world.nights):
            page = []
            for device in range(len(self._world.makers)):
                if self._world.condition(device, night).registered:
                    page.append(self._device(device, night, strips[device]))
            yield tuple(page)

    def _device(self, device: int, night: int, strip: list[tuple[Expected, _Known]]) -> Expected:
        """Continue a device's strip of nights by one, and begin anew where a late report changed what was known."""
        late = [
            event.first for event in self._of[device] if event.kind is Kind.LATE and event.first + event.delay == night
        ]
        first = night - len(strip)
        if late:
            del strip[min(late) - first :]
        for number in range(first + len(strip), night + 1):
            known = strip[-1][1] if strip else _Known()
            expected, known = self._night(self._world.condition(device, number), known, by=night)
            if strip and strip[-1][0].verdict is expected.verdict:
                expected = replace(expected, since=strip[-1][0].since)
            strip.append((expected, known))
        return strip[-1][0]

    def _night(self, condition: Condition, known: _Known, *, by: int) -> tuple[Expected, _Known]:
        blank = Expected(condition.device, VerdictName.OK, condition.night)
        if condition.paused:
            return replace(blank, verdict=VerdictName.PAUSED), replace(known, stop=None)
        if condition.arrives is None or condition.arrives > by:
            silent = VerdictName.NO_DATA if known.reported else VerdictName.NEVER_RAN
            return replace(blank, verdict=silent), replace(known, stop=None)
        after = replace(known, reported=True, stop=None)
        if condition.stop is not None:
            verdict = _STOPPED[BREAKS[condition.stop.kind]]
            built = verdict is VerdictName.IMPORT_BROKEN
            news = () if known.stop == condition.stop.number or verdict is VerdictName.INFRA else (condition.stop,)
            blames = {event.number: self._blame(event, condition, known.base, built=built) for event in news}
            told = replace(blank, verdict=verdict, news=news, blames=blames)
            return told, replace(after, stop=condition.stop.number)
        if condition.empty is not None:
            return replace(blank, verdict=VerdictName.NO_DATA), after
        return self._tests(condition, known, blank), after if condition.cut else self._seen(condition, after)

    def _seen(self, condition: Condition, after: _Known) -> _Known:
        fewer = [
            event.number for event in self._of[condition.device] if event.kind in _FEWER and event.on(condition.night)
        ]
        return replace(after, base=condition, fewer=frozenset(fewer))

    def _tests(self, condition: Condition, known: _Known, blank: Expected) -> Expected:
        night = condition.night
        unknown = [event for event in condition.failing if not event.known_on(night)]
        seen = {event.number for event in known.base.failing} if known.base else set()
        broken = [event for event in unknown if event.number not in seen]
        fewer = [
            event
            for event in self._of[condition.device]
            if event.kind in _FEWER and event.on(night) and event.number not in known.fewer and known.base
        ]
        verdict = self._verdict(condition, unknown, broken if known.base else [], fewer)
        news, mended = self._told(condition, known.base, (*broken, *fewer))
        ids = self._world.test_ids
        return replace(
            blank,
            verdict=verdict,
            news=news,
            mended=mended,
            changes={event.number: self._changes(event, condition, known.base) for event in (*news, *mended)},
            blames={event.number: self._blame(event, condition, known.base) for event in news},
            failing=frozenset(ids[test] for test, event in condition.causes.items() if event.kind is not Kind.FLAKY),
        )

    def _verdict(
        self, condition: Condition, unknown: list[Event], broken: list[Event], fewer: list[Event]
    ) -> VerdictName:
        cases = self._world.cases
        if any(cases[test].suite == "smoke" for event in unknown for test in event.tests):
            return VerdictName.SMOKE_BROKEN
        if broken:
            return VerdictName.REGRESSED
        if fewer or condition.cut:
            return VerdictName.LOST_TESTS
        if unknown:
            return VerdictName.FAILING
        if any(event.kind is Kind.FLAKY for event in condition.causes.values()):
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
        if event.blame is Blame.UPSTREAM and len(event.devices) > 1:
            return Blame.UPSTREAM
        if base is None or not built:
            return Blame.UNCLEAR
        device, nights = condition.device, (base.night, condition.night)
        torch = len({self._world.builds.torch(device, night).git_version for night in nights}) > 1
        plugin = len({self._world.builds.plugin(device, night).commit for night in nights}) > 1
        return {(True, False): Blame.SUSPECTED, (False, True): Blame.PLUGIN}.get((torch, plugin), Blame.UNCLEAR)

    def _changes(self, event: Event, condition: Condition, base: Condition | None) -> dict[str, ChangeName]:
        found: dict[str, ChangeName] = {}
        for test in event.tests if base else ():
            change = _change(base.codes[test] if base else ABSENT, condition.codes[test])
            if change is not None:
                found[self._world.test_ids[test]] = change
        return found


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
