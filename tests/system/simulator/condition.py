"""How a device is on one night: the events that it meets, and what comes of every test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from ootci.model.build import StageName
from ootci.model.outcome import OutcomeName

from .catalogue import Case
from .event import FAILING, Blame, Event, Kind
from .fleet import Maker

NAMES = tuple(OutcomeName)
CODE = {name: code for code, name in enumerate(NAMES)}
"""The byte that stands for an outcome: its place in ``tuple(OutcomeName)``."""
ABSENT = 0xFF
"""The byte of a test that is not there on that night."""

PASSED = CODE[OutcomeName.PASSED]
BREAKS = {
    Kind.FETCH_OUTAGE: StageName.FETCH,
    Kind.BUILD_BREAK_UPSTREAM: StageName.BUILD,
    Kind.BUILD_BREAK_PLUGIN: StageName.BUILD,
    Kind.IMPORT_BREAK_UPSTREAM: StageName.IMPORT,
    Kind.IMPORT_BREAK_PLUGIN: StageName.IMPORT,
    Kind.OUTAGE: StageName.CHECK,
}
"""The stage at which a device stops."""

SKIPPED_SHARE = 0.015
CUT_AFTER = 0.6
"""How much of a suite is reported when its time is up."""


@dataclass(frozen=True)
class Condition:
    """How a device is on one night.

    Attributes:
        registered: whether there is a device file yet.
        paused: whether the device is paused.
        arrives: the night on whose page the report is seen first; None when there is none.
        stop: what stops it before the suites, if anything does.
        cut: what ends a suite early, if anything does.
        empty: what keeps a suite from collecting any test, if anything does.
        retry: what makes the first attempt fail, if anything does.
        fallback: what makes it test a release instead of the nightly, if anything does.
        failing: the events whose tests fail.
        codes: one byte a test: the outcome's place in ``tuple(OutcomeName)``, or ``ABSENT``.
        causes: the event behind each test that fails.
        flaky: the failing tests that pass when they are run again.

    """

    device: int
    night: int
    registered: bool
    paused: bool
    arrives: int | None
    stop: Event | None
    cut: Event | None
    empty: Event | None
    retry: Event | None
    fallback: Event | None
    failing: tuple[Event, ...]
    codes: bytes
    causes: Mapping[int, Event]
    flaky: frozenset[int]


class Conditions:
    """The condition of every device on every night, made when it is asked for.

    Args:
        seed: of the world.
        makers: the devices.
        cases: every test that there ever is.
        bases: what comes of the tests of each device when nothing happens.
        events: what happens.
        nights: how many there are.

    """

    def __init__(
        self,
        seed: int,
        makers: Sequence[Maker],
        cases: Sequence[Case],
        bases: Sequence[bytes],
        events: Sequence[Event],
        nights: int,
    ) -> None:
        self._seed = seed
        self._makers = makers
        self._bases = bases
        self._nights = nights
        self._of = [[event for event in events if device in event.devices] for device in range(len(makers))]
        self._suites = {
            suite: tuple(index for index, case in enumerate(cases) if case.suite == suite)
            for suite in ("smoke", "integration", "ops")
        }

    def joins(self, device: int) -> int:
        """The first night on which the device is registered."""
        return self._makers[device].first_night(self._nights)

    def at(self, device: int, night: int) -> Condition:
        """How a device is on one night."""
        events = [event for event in self._of[device] if event.on(night)]
        by_kind = {event.kind: event for event in events}
        registered = night >= self.joins(device)
        paused = Kind.PAUSED in by_kind
        silent = paused or not registered or bool({Kind.SILENT, Kind.GAP} & set(by_kind))
        silent |= self._makers[device].joins is None
        late = by_kind.get(Kind.LATE)
        stop = next((event for event in events if event.kind in BREAKS), None)
        codes = bytearray(self._bases[device])
        nightly = Kind.FALLBACK not in by_kind
        # A release holds none of the commits that broke nightlies.
        met = [event for event in self._of[device] if nightly or event.blame is not Blame.UPSTREAM]
        failing, causes = self._apply(codes, met, night)
        flaky = self._shake(codes, self._of[device], causes, device, night)
        cut, empty = by_kind.get(Kind.CUT_REPORT), by_kind.get(Kind.EMPTY_REPORT)
        self._shorten(codes, cut, empty)
        return Condition(
            device=device,
            night=night,
            registered=registered,
            paused=paused,
            arrives=None if silent else night + (late.delay if late else 0),
            stop=stop,
            cut=cut,
            empty=empty,
            retry=by_kind.get(Kind.RETRY),
            fallback=by_kind.get(Kind.FALLBACK),
            failing=failing,
            codes=bytes(codes),
            causes=causes,
            flaky=flaky,
        )

    def _apply(
        self, codes: bytearray, events: Sequence[Event], night: int
    ) -> tuple[tuple[Event, ...], dict[int, Event]]:
        failing: list[Event] = []
        causes: dict[int, Event] = {}
        for event in events:
            if event.kind is Kind.RENAME and night >= event.first:
                half = len(event.tests) // 2
                for old, new in zip(event.tests[:half], event.tests[half:], strict=True):
                    codes[old], codes[new] = ABSENT, codes[old]
            elif event.kind in (Kind.NEW_TESTS, Kind.NEW_FAILING_TESTS) and night >= event.first:
                _set(codes, event.tests, PASSED)
            if not event.on(night):
                continue
            if event.kind in (Kind.LOST_TESTS, Kind.REMOVED_TESTS):
                _set(codes, event.tests, ABSENT)
                _set(codes, event.instead, PASSED)
            elif event.kind in (Kind.SKIPPED_TESTS, Kind.CORE_DEFECT):
                _set(codes, [test for test in event.tests if codes[test] == PASSED], CODE[event.outcome])
            elif event.kind in FAILING:
                hit = [test for test in event.tests if codes[test] == PASSED]
                _set(codes, hit, CODE[event.outcome])
                causes.update(dict.fromkeys(hit, event))
                failing += [event] if hit else []
        return tuple(failing), causes

    def _shake(
        self, codes: bytearray, events: Sequence[Event], causes: dict[int, Event], device: int, night: int
    ) -> frozenset[int]:
        """Let flaky tests fail; those that pass when they are run again."""
        again: set[int] = set()
        random = Random(f"{self._seed}/flaky/{device}/{night}")  # noqa: S311 - nothing secret
        for event in events:
            if event.kind not in (Kind.FLAKY, Kind.FLAKY_TWICE):
                continue
            shaken = night in event.flaked or (event.on(night) and random.random() < event.chance)
            for test in event.tests if shaken or (event.kind is Kind.FLAKY_TWICE and event.on(night)) else ():
                if codes[test] == PASSED:
                    codes[test] = CODE[event.outcome]
                    causes[test] = event
                    again |= {test} if shaken else set()
        return frozenset(again)

    def _shorten(self, codes: bytearray, cut: Event | None, empty: Event | None) -> None:
        tests = self._suites["integration"]
        if empty is not None:
            _set(codes, tests, ABSENT)
        elif cut is not None:
            there = [test for test in tests if codes[test] != ABSENT]
            _set(codes, there[round(len(there) * CUT_AFTER) :], CODE[OutcomeName.NOT_RUN])


def base(seed: int, maker: Maker, cases: Sequence[Case], early: int) -> bytes:
    """What comes of the tests of a device when nothing happens; those after the first ``early`` are not there yet."""
    random = Random(f"{seed}/base/{maker.name}")  # noqa: S311 - nothing secret
    disclaimed = {which.value for which, _ in maker.unsupported}
    codes = bytearray()
    for case in cases[:early]:
        skipped = random.random() < SKIPPED_SHARE and case.suite != "smoke"
        if case.capability in disclaimed or (case.suite == "ops" and not maker.has_kernel(case.id)):
            codes.append(CODE[OutcomeName.UNSUPPORTED])
        elif skipped:
            codes.append(CODE[OutcomeName.SKIPPED])
        else:
            codes.append(CODE[OutcomeName.XFAILED if case.id.endswith("::test_protocol") else OutcomeName.PASSED])
    return bytes(codes) + bytes([ABSENT]) * (len(cases) - early)


def _set(codes: bytearray, tests: Sequence[int], code: int) -> None:
    for test in tests:
        codes[test] = code
