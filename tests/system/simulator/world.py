"""The invented world as a whole, made night by night."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone

from ootci.model.compat import Compat
from ootci.model.device import KnownFailure, LostTests, RegisteredDevice
from ootci.model.plan import LeftOut, Plan, PlannedRun, Trigger
from ootci.model.run import Run

from .builds import Builds
from .calendar import Calendar
from .catalogue import catalogue
from .condition import Condition, Conditions, base
from .event import Acceptance, Event, Kind
from .fleet import MAKERS, registered
from .forecasts import forecasts
from .planting import plant, plant_an_ending
from .runs import Reporter
from .trials import AHEAD

START = datetime(2026, 1, 5, 4, 10, tzinfo=timezone.utc)
PAGE_AFTER = timedelta(hours=5)
"""How long after a nightly was planned its page is made."""
RENEWED = 150
"""After so many nights a vendor renews an entry that is still needed."""
ENTRY_DAYS = 200
LOOKED_AT = 30
"""So many nights back a plan looks for what failed last."""
FORGOTTEN = 30
"""So many nights an entry stays in the list that nobody needs."""

TAKEN_AWAY = 10
"""After so many nights an entry of lost tests is taken away again."""


@dataclass(frozen=True)
class Night:
    """One night, as it reaches the history.

    Attributes:
        number: counted from 0.
        now: when its page is made.
        registry: the registered devices.
        plan: what was expected.
        arrivals: the runs that reached the history since the night before's page, late ones first.
        compat: what was predicted, if anything.
        future: a nightly dated far ahead that is in the history until this page is made, if there is one.

    """

    number: int
    now: datetime
    registry: tuple[RegisteredDevice, ...]
    plan: Plan
    arrivals: tuple[Run, ...]
    compat: Compat | None
    future: Plan | None = None


class World:
    """Devices, tests and what happens to them; the same for the same arguments, always.

    Args:
        seed: decides everything that is not said.
        nights: how many there are.
        tests: how many each device runs at the beginning.
        devices: how many there are, at most as many as are invented.
        start: when the first night is planned.
        ending: whether the last nights shall show every verdict at once; needs all devices, and a month.

    Attributes:
        cases: every test that there ever is; a test's number is its place.
        events: what happens, which is the truth that a judge is held against.

    """

    def __init__(
        self,
        seed: int = 1,
        *,
        nights: int = 365,
        tests: int = 150,
        devices: int = len(MAKERS),
        start: datetime = START,
        ending: bool = False,
    ) -> None:
        self.seed = seed
        self.nights = nights
        self.start = start
        self.makers = MAKERS[:devices]
        early = catalogue(tests)
        self.builds = Builds(seed, start, nights, self.makers)
        bases = [base(seed, maker, early, tests) for maker in self.makers]
        calendar = Calendar(seed, nights, self.makers, early, bases, self.builds.fresh)
        if ending:
            plant_an_ending(calendar)
        plant(calendar)
        self.events: tuple[Event, ...] = tuple(calendar.events)
        self.builds.follow(self.events)
        self.cases = (*early, *calendar.added)
        self.test_ids = tuple(case.id for case in self.cases)
        bases = [base(seed, maker, self.cases, tests) for maker in self.makers]
        self._conditions = Conditions(seed, self.makers, self.cases, bases, self.events, nights)
        self._reporter = Reporter(seed, start, self.makers, self.cases, self.builds)
        self._sizes = dict(Counter(case.suite for case in early))
        self._registered: dict[tuple[object, ...], RegisteredDevice] = {}

    def planned_at(self, night: int) -> datetime:
        """When a night was planned."""
        return self.start + timedelta(days=night)

    def plan_id(self, night: int) -> str:
        """Identity of a night."""
        suffix = hashlib.sha256(f"{self.seed}/{night}".encode()).hexdigest()[:4]
        return f"{self.planned_at(night):%Y%m%d-%H%M}-{suffix}"

    def condition(self, device: int, night: int) -> Condition:
        """How a device is on a night."""
        return self._conditions.at(device, night)

    def codes(self, device: int, night: int) -> bytes | None:
        """What came of every test of :attr:`test_ids`, one byte each; None when nothing of it was reported."""
        condition = self.condition(device, night)
        return None if condition.arrives is None or condition.stop is not None else condition.codes

    def registry(self, night: int) -> tuple[RegisteredDevice, ...]:
        """The registered devices of a night."""
        return tuple(
            self._device(device, night) for device in range(len(self.makers)) if night >= self._conditions.joins(device)
        )

    def _device(self, device: int, night: int) -> RegisteredDevice:
        mine = [event for event in self.events if device in event.devices]
        paused = any(event.kind is Kind.PAUSED and event.on(night) for event in mine)
        known = tuple(entry for event in mine for entry in self._entries(event, device, night))
        given_up = tuple(
            self.cases[event.tests[0]].capability
            for event in mine
            if event.accepted and event.accepted[0] is Acceptance.FILE and night >= event.accepted[1]
        )
        lost = tuple(entry for event in mine for entry in self._accepted(event, device, night))
        key = (device, paused, known, given_up, lost)
        if key not in self._registered:
            self._registered[key] = registered(
                self.makers[device], tests=self._sizes, paused=paused, known=known, given_up=given_up, lost=lost
            )
        return self._registered[key]

    def _accepted(self, event: Event, device: int, night: int) -> Iterator[LostTests]:
        """The entries of lost tests that an event makes a vendor write, for as long as they are needed."""
        in_words = event.accepted is not None and event.accepted[0] is Acceptance.WORDS
        first = event.accepted[1] if event.accepted and in_words else event.first
        if (in_words or event.kind is Kind.REMOVED_TESTS) and first <= night < first + TAKEN_AWAY:
            for test in event.tests:
                yield LostTests(
                    id=self.test_ids[test],
                    reason=f"{self.makers[device].display_name} does not need this any more.",
                    added=self._day(first),
                    expires=self._day(first + ENTRY_DAYS),
                )

    def _entries(self, event: Event, device: int, night: int) -> Iterator[KnownFailure]:
        """The entries of known failures that an event makes a vendor write."""
        if event.known is None or not event.known[0] <= night <= max(event.known[1], event.last) + FORGOTTEN:
            return
        first, last = event.known
        if event.kind is not Kind.KNOWN_PASSES and night > last and event.last <= last:
            return
        added = first + (min(night, last) - first) // RENEWED * RENEWED
        vendor = self.makers[device].name
        for test in event.tests:
            yield KnownFailure(
                id=self.test_ids[test],
                reason=f"The kernels of {vendor} for this are being written again.",
                issue=f"https://github.com/example/torch-{vendor}/issues/{100 + event.number}",
                added=self._day(added),
                expires=min(self._day(last), self._day(added + ENTRY_DAYS)),
            )

    def _day(self, night: int) -> date:
        return self.planned_at(night).date()

    def plan(self, night: int) -> Plan:
        """What a night expected."""
        runs, left_out = [], []
        numbers = {maker.name: device for device, maker in enumerate(self.makers)}
        for item in self.registry(night):
            device = item.device
            if device.paused is not None:
                left_out.append(LeftOut(device=device.name, reason=device.paused.reason, paused=True))
                continue
            runs.append(
                PlannedRun.of(
                    item,
                    f"{self.plan_id(night)}-{device.name}",
                    self.builds.request(numbers[device.name], night),
                    failing_before=self._failing_before(numbers[device.name], night),
                )
            )
        return Plan(
            id=self.plan_id(night),
            created_at=self.planned_at(night),
            trigger=Trigger(event="schedule"),
            runs=tuple(runs),
            left_out=tuple(left_out),
            new_commits=self.builds.new_commits(night),
        )

    def _failing_before(self, device: int, night: int) -> tuple[str, ...] | None:
        """What failed when the device last reported completely, as far as anybody knew when the night was planned."""
        for earlier in range(night - 1, max(-1, night - 1 - LOOKED_AT), -1):
            condition = self.condition(device, earlier)
            whole = not (condition.stop or condition.cut or condition.empty)
            if whole and condition.arrives is not None and condition.arrives < night:
                return tuple(self.test_ids[test] for test in sorted(condition.causes) if test not in condition.flaky)
        return None

    def runs(self, device: int, night: int) -> tuple[Run, ...]:
        """Every attempt that a device reported on a night; none when it was silent."""
        return self._reported(self.condition(device, night))

    def _reported(self, condition: Condition) -> tuple[Run, ...]:
        min_tests = {suite: max(1, count // 3) for suite, count in self._sizes.items()}
        return tuple(self._reporter.runs(condition, self.plan_id(condition.night), min_tests))

    def night(self, number: int) -> Night:
        """One night, as it reaches the history."""
        late = [
            self.condition(event.devices[0], event.first)
            for event in self.events
            if event.kind in (Kind.LATE, Kind.DUPLICATE) and event.first + event.delay == number
        ]
        tonight = [self.condition(device, number) for device in range(len(self.makers))]
        on_time = [condition for condition in tonight if condition.arrives == number]
        plan = self.plan(number)
        ahead = plan.created_at + timedelta(days=AHEAD)
        return Night(
            number=number,
            now=self.planned_at(number) + PAGE_AFTER,
            registry=self.registry(number),
            plan=plan,
            arrivals=tuple(run for condition in (*late, *on_time) for run in self._reported(condition)),
            compat=forecasts(plan, self.builds.torch(0, number), self.registry(number), number, self.nights),
            future=plan.model_copy(update={"id": f"{plan.id}-ahead", "created_at": ahead})
            if self.meets(Kind.FUTURE, number)
            else None,
        )

    def meets(self, kind: Kind, night: int) -> bool:
        """Whether something of a kind that is the same for all devices happens on a night."""
        return any(event.kind is kind and event.on(night) for event in self.events)

    def all_nights(self) -> Iterator[Night]:
        """Every night on which there is a nightly, in order, made when it is asked for."""
        for number in range(self.nights):
            if not self.meets(Kind.GAP, number):
                yield self.night(number)
