"""Who is free when, and which tests nothing else happens to, so that what is planted can be told apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random

from ootci.model.outcome import OutcomeName

from .catalogue import Case, later
from .condition import PASSED
from .event import Acceptance, Blame, Event, Kind
from .fleet import Maker

A_YEAR = 365
TRIES = 10
"""How often something is tried, for each time that it is wanted."""
FIRST = 3
"""The first night on which something begins that has not always been so."""
MARGIN = 1
"""Nights before and after something in which nothing else begins or ends on the device."""

STANDING = frozenset(
    {
        Kind.RENAME,
        Kind.NEW_TESTS,
        Kind.NEW_FAILING_TESTS,
        Kind.CORE_DEFECT,
        Kind.FLAKY,
        Kind.FLAKY_TWICE,
        Kind.KNOWN,
        Kind.KNOWN_EXPIRES,
        Kind.KNOWN_PASSES,
    }
)
"""Kinds whose tests nothing else happens to, at any time."""


class Calendar:
    """What has been planted, and where there is room for more.

    Args:
        seed: of the world.
        nights: how many there are.
        makers: the devices.
        cases: the tests that are there from the beginning.
        bases: what comes of them on each device when nothing happens.
        fresh: the nights with a PyTorch that the night before did not have.

    Attributes:
        random: where every choice comes from.
        events: what was planted.
        added: tests that are not there from the beginning, in the order of their numbers.
        pool: tests that may be added.
        running: the devices that report at all; the first is the reference.
        on_nightlies: those of them that are tested on PyTorch's nightlies.

    """

    def __init__(
        self,
        seed: int,
        nights: int,
        makers: Sequence[Maker],
        cases: Sequence[Case],
        bases: Sequence[bytes],
        fresh: Iterable[int],
    ) -> None:
        self.random = Random(f"{seed}/events")  # noqa: S311 - nothing secret
        self.nights = nights
        self.makers = makers
        self.cases = cases
        self.events: list[Event] = []
        self.added: list[Case] = []
        self.pool = list(later())
        self.running = tuple(device for device, maker in enumerate(makers) if maker.joins is not None)
        self.on_nightlies = tuple(device for device in self.running if not makers[device].release)
        self._bases = bases
        self._fresh = frozenset(fresh)
        self._begun: set[int] = set()
        # Nothing happens to a device before it is there.
        self._busy = [set(range(maker.first_night(nights))) for maker in makers]
        self._occupied: list[list[tuple[int, int, frozenset[int]]]] = [[] for _ in makers]
        self._capabilities = sorted({case.capability for case in cases if case.suite != "smoke"})

    @property
    def gaps(self) -> frozenset[int]:
        """The nights without a nightly."""
        return frozenset(event.first for event in self.events if event.kind is Kind.GAP)

    def tries(self, a_year: float) -> Iterator[int]:
        """Try until so many things a year are planted, one in a try, or until the calendar seems to be full."""
        wanted = max(1, round(a_year * self.nights / A_YEAR))
        for number in range(TRIES * wanted):
            before = len(self.events)
            yield number
            wanted -= len(self.events) > before
            if not wanted:
                return

    def night(self) -> int:
        """Any night but the first ones and the last."""
        return self.random.randint(FIRST, self.nights - 2)

    def span(self, shortest: int, longest: int, *, fresh: bool | None = None) -> tuple[int, int]:
        """First and last night of something; ``fresh`` says whether PyTorch shall be a new one on the first.

        No two things begin with the same new PyTorch, or nobody could tell them apart.
        """
        fitting = [night for night in range(FIRST, self.nights - 1) if fresh is (night in self._fresh)]
        unused = [night for night in fitting if night not in self._begun] or fitting
        first = self.random.choice(unused) if unused else self.night()
        self._begun |= {first} if fresh else set()
        return first, self.until(first, shortest, longest)

    def until(self, first: int, shortest: int, longest: int) -> int:
        """The last night of something that begins on ``first``."""
        return min(self.nights - 1, first - 1 + self.random.randint(shortest, longest))

    def some(self, fewest: int, most: int) -> list[int]:
        """Some devices on nightlies, never the reference, in registry order."""
        others = self.on_nightlies[1:]
        return sorted(self.random.sample(others, min(len(others), self.random.randint(fewest, most))))

    def free(self, devices: Iterable[int], nights: Collection[int]) -> bool:
        """Whether nothing else begins or ends on the devices around those nights."""
        around = {night + step for night in nights for step in range(-MARGIN, MARGIN + 1)}
        return all(not around & self._busy[device] for device in devices)

    def reserve(self, devices: Iterable[int], nights: Collection[int]) -> None:
        """Let nothing else begin or end on the devices on those nights."""
        for device in devices:
            self._busy[device].update(nights)

    def claim(self, devices: Sequence[int], nights: Collection[int]) -> bool:
        """Reserve the nights, if they are free."""
        if not self.free(devices, nights):
            return False
        self.reserve(devices, nights)
        return True

    def size(self) -> int:
        """How many tests something breaks."""
        return self.random.randint(1, max(8, len(self.cases) // 60))

    def tests(
        self, devices: Sequence[int], first: int, last: int, count: int, suite: str | None = None
    ) -> tuple[int, ...]:
        """Tests, of one capability unless a suite is named, that pass on the devices and that nothing happens to."""
        taken: set[int] = set()
        for device in devices:
            for begin, end, tests in self._occupied[device]:
                if begin <= last + MARGIN and first - MARGIN <= end:
                    taken |= tests
        start = self.random.randrange(len(self._capabilities))
        for step in range(len(self._capabilities)):
            capability = self._capabilities[(start + step) % len(self._capabilities)]
            found = [
                test
                for test, case in enumerate(self.cases)
                if (case.suite == suite if suite else case.suite != "smoke" and case.capability == capability)
                and test not in taken
                and all(self._bases[device][test] == PASSED for device in devices)
            ]
            if found:
                return tuple(sorted(self.random.sample(found, min(count, len(found)))))
        return ()

    def new_test(self, case: Case) -> int:
        """Add a test that is not there from the beginning, and return its number."""
        self.added.append(case)
        return len(self.cases) + len(self.added) - 1

    def add(
        self,
        kind: Kind,
        devices: Iterable[int],
        first: int,
        last: int,
        tests: tuple[int, ...] = (),
        outcome: OutcomeName = OutcomeName.FAILED,
        blame: Blame = Blame.NOBODY,
        *,
        known: tuple[int, int] | None = None,
        chance: float = 0.0,
        delay: int = 0,
        instead: tuple[int, ...] = (),
        flaked: tuple[int, ...] = (),
        accepted: tuple[Acceptance, int] | None = None,
    ) -> None:
        """Plant an event."""
        happens = (len(self.events), kind, tuple(devices), first, last, tests, outcome, blame)
        event = Event(*happens, known, chance, delay, instead, flaked, accepted)
        self.events.append(event)
        whole = (0, self.nights) if kind in STANDING else (first, last)
        for device in event.devices:
            self._occupied[device].append((*whole, frozenset(tests)))
