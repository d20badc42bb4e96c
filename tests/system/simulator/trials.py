"""Planting what a judge finds hard: lost tests, releases instead of nightlies, gaps, and failures that mislead."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from .calendar import Calendar
from .catalogue import in_another_file, renamed
from .event import Acceptance, Blame, Event, Kind

LOSSES = ((88, 0), (1, 0), (0, 0), (10, 15))
"""How many tests are lost, and how many are there instead; no number means all of a file, which is renamed."""
ENDINGS = (None, Acceptance.REFERENCE, Acceptance.WORDS)
AHEAD = 400
"""So many days a nightly in the future is dated ahead."""
RECORD = 14
"""So many nights before a flaky test fails twice its record begins."""


def plant_trials(calendar: Calendar) -> None:
    """Plant each kind several times, on devices and nights that are drawn."""
    _there_are_gaps(calendar)
    _suites_shrink(calendar)
    _capabilities_are_given_up(calendar)
    _upstream_in_disguise(calendar)
    _flaky_tests_fail_twice(calendar)
    _connections_are_refused(calendar)
    _releases_stand_in(calendar)


def _device(calendar: Calendar) -> int:
    return calendar.random.choice(calendar.on_nightlies[1:])


def _suites_shrink(calendar: Calendar) -> None:
    for (lost, more), ending in product(LOSSES, ENDINGS):
        for _ in calendar.tries(1):
            first, last = calendar.span(3, 9)
            device, until = _device(calendar), last + 1
            watched = (0, device) if ending is Acceptance.REFERENCE else (device,)
            end = last if ending is None else calendar.nights - 1
            tests = calendar.tests(watched, first, end, lost or len(calendar.cases), "ops" if lost else "integration")
            if not lost:
                tests = _of_one_file(calendar, tests)
            if len(tests) < max(lost, 1) or not calendar.free((device,), (first, until)):
                continue
            if ending is Acceptance.REFERENCE and not calendar.claim((0,), (until,)):
                continue
            calendar.reserve((device,), (first, until))
            calendar.add(
                Kind.LOST_TESTS,
                (device,),
                first,
                end,
                tests,
                instead=tuple(_instead(calendar, tests, lost, more)),
                accepted=(ending, until) if ending else None,
            )
            if ending is Acceptance.REFERENCE:
                calendar.add(Kind.REMOVED_TESTS, (0,), until, end, tests)


def _of_one_file(calendar: Calendar, tests: tuple[int, ...]) -> tuple[int, ...]:
    files = [calendar.cases[test].id.partition("::")[0] for test in tests]
    chosen = calendar.random.choice(files) if files else ""
    return tuple(test for test, file in zip(tests, files, strict=True) if file == chosen)


def _instead(calendar: Calendar, tests: tuple[int, ...], lost: int, more: int) -> Iterator[int]:
    """New tests that are there instead of the lost ones: those of the renamed file, or so many others."""
    if not lost:
        return (calendar.new_test(in_another_file(calendar.cases[test], len(calendar.events))) for test in tests)
    names = (
        renamed(calendar.cases[tests[place % len(tests)]], f"{len(calendar.events)}_{place}") for place in range(more)
    )
    return (calendar.new_test(case) for case in names)


def _capabilities_are_given_up(calendar: Calendar) -> None:
    """A vendor declares a capability unsupported some nights after its tests were lost."""
    for _ in calendar.tries(6):
        first, last = calendar.span(2, 6)
        device, end = _device(calendar), calendar.nights - 1
        tests = calendar.tests((device,), first, end, len(calendar.cases))
        capabilities = {calendar.cases[test].capability for test in tests}
        if capabilities - {"ops"} and calendar.claim((device,), (first, last + 1)):
            calendar.add(Kind.LOST_TESTS, (device,), first, end, tests, accepted=(Acceptance.FILE, last + 1))


def _upstream_in_disguise(calendar: Calendar) -> None:
    for kind in (Kind.OWN_WORDS, Kind.SEEN_LATER):
        for _ in calendar.tries(12):
            first, last = calendar.span(3, 8, fresh=True)
            devices = [
                device for device in calendar.some(3, 3) if calendar.free((device,), (first, first + 1, last + 1))
            ]
            tests = calendar.tests(devices, first, last, 2)
            if len(devices) < 3 or len(tests) < 2:
                continue
            calendar.reserve(devices, (first, first + 1, last + 1))
            calendar.add(kind, devices, first, last, tests, blame=Blame.UPSTREAM)
            if kind is Kind.SEEN_LATER:
                for device in calendar.random.sample(devices, calendar.random.choice((1, 2))):
                    calendar.add(Kind.SILENT, (device,), first, first)


def _flaky_tests_fail_twice(calendar: Calendar) -> None:
    for _ in calendar.tries(12):
        first = calendar.random.randint(min(RECORD, calendar.nights - 2), calendar.nights - 2)
        device = _device(calendar)
        tests = calendar.tests((device,), 0, calendar.nights - 1, 1)
        flaked = tuple(sorted(calendar.random.sample(range(first - RECORD, first - 1), 3))) if first >= RECORD else ()
        if tests and flaked and calendar.claim((device,), (*flaked, first, first + 1)):
            calendar.add(Kind.FLAKY_TWICE, (device,), first, first + 1, tests, flaked=flaked)


def _connections_are_refused(calendar: Calendar) -> None:
    for _ in calendar.tries(12):
        night, device = calendar.night(), _device(calendar)
        tests = calendar.tests((device,), night, night, calendar.random.randint(1, 6))
        if tests and calendar.claim((device,), (night, night + 1)):
            calendar.add(Kind.REFUSED, (device,), night, night, tests)


def _releases_stand_in(calendar: Calendar) -> None:
    """On devices that are well, where tests fail on the release, and in the middle of what fails on nightlies."""
    for _ in calendar.tries(12):
        first, last = calendar.span(1, 2)
        device = _device(calendar)
        tests = calendar.tests((device,), first, last, 3)
        if tests and calendar.claim((device,), range(first, last + 1)):
            calendar.add(Kind.FALLBACK, (device,), first, last, tests)


def releases_inside(calendar: Calendar) -> None:
    """Let a release stand in for a night in the middle of what fails, whosever fault that is."""
    for blame in (Blame.UPSTREAM, Blame.PLUGIN):
        fitting = [event for event in calendar.events if _lasts(event) and event.blame is blame]
        for _ in calendar.tries(12):
            if not fitting:
                break
            event = calendar.random.choice(fitting)
            night = calendar.random.randint(event.first + 2, event.last - 2)
            device = calendar.random.choice(event.devices)
            if device in calendar.on_nightlies and calendar.claim((device,), (night,)):
                calendar.add(Kind.FALLBACK, (device,), night, night)


def _lasts(event: Event) -> bool:
    return bool(event.tests) and event.last - event.first >= 5 and event.known is None


def _there_are_gaps(calendar: Calendar) -> None:
    for kind in (Kind.GAP, Kind.FUTURE):
        for _ in calendar.tries(6):
            night = calendar.night()
            if night not in calendar.gaps:
                calendar.add(kind, range(len(calendar.makers)), night, night)


def reports_come_twice_or_late(calendar: Calendar) -> None:
    """Let reports arrive nights later, or once more; a nightly has to be there for them then."""
    for kind, a_year in ((Kind.DUPLICATE, 12), (Kind.LATE, 20)):
        for _ in calendar.tries(a_year):
            night, delay = calendar.night(), calendar.random.randint(1, 4)
            device = calendar.random.choice(calendar.running)
            if not calendar.gaps & {night, night + delay} and calendar.claim((device,), (night,)):
                calendar.add(kind, (device,), night, night, delay=delay)
