"""Deciding what happens when, so many times a year of each kind."""

from __future__ import annotations

from ootci.model.outcome import OutcomeName

from .calendar import Calendar
from .catalogue import renamed
from .event import FAILING, Blame, Kind
from .trials import plant_trials, releases_inside, reports_come_twice_or_late

_BREAKING = (OutcomeName.FAILED, OutcomeName.FAILED, OutcomeName.FAILED, OutcomeName.ERROR, OutcomeName.CRASHED)
PLUGIN_ALONE = 0.4
"""How often a plugin breaks while PyTorch stays as it was, so that there is no doubt."""


def plant(calendar: Calendar) -> None:
    """Plant everything: first what lasts, then what breaks, then what becomes of reports and machines."""
    _tests_come_and_go(calendar)
    _expected_failures(calendar)
    _vendors_pause(calendar)
    _flaky_tests(calendar)
    plant_trials(calendar)
    _pytorch_breaks_tests(calendar)
    _pytorch_breaks_plugins(calendar)
    _pytorch_breaks_one_device(calendar)
    _plugins_break_tests(calendar)
    _plugins_do_not_work(calendar)
    _regressions_behind_outages(calendar)
    _tests_are_skipped(calendar)
    releases_inside(calendar)
    _reports_go_wrong(calendar)
    _machines_fail(calendar)


def plant_an_ending(calendar: Calendar) -> None:
    """Let the last nights show every verdict at once, for those who want to see them all on one page."""
    end = calendar.nights - 1
    devices = iter(calendar.random.sample(calendar.on_nightlies[5:], len(calendar.on_nightlies[5:])))
    broken = (0, *calendar.on_nightlies[1:4])
    calendar.reserve(broken, (end,))
    tests = calendar.tests(broken, end, end, 4)
    calendar.add(Kind.UPSTREAM_REGRESSION, broken, end, end, tests, blame=Blame.UPSTREAM)
    for kind, nights, blame in (
        (Kind.PLUGIN_REGRESSION, 1, Blame.PLUGIN),
        (Kind.PLUGIN_REGRESSION, 6, Blame.PLUGIN),
        (Kind.SMOKE_BREAK_PLUGIN, 2, Blame.PLUGIN),
        (Kind.BUILD_BREAK_PLUGIN, 3, Blame.PLUGIN),
        (Kind.IMPORT_BREAK_PLUGIN, 9, Blame.PLUGIN),
        (Kind.SILENT, 3, Blame.NOBODY),
        (Kind.OUTAGE, 1, Blame.NOBODY),
        (Kind.LOST_TESTS, 1, Blame.NOBODY),
        (Kind.PAUSED, 20, Blame.NOBODY),
    ):
        device, first = (next(devices),), end + 1 - nights
        calendar.reserve(device, range(first, end + 1))
        suite = "smoke" if kind is Kind.SMOKE_BREAK_PLUGIN else None
        tests = calendar.tests(device, first, end, 5, suite)
        calendar.add(kind, device, first, end, tests if kind in (*FAILING, Kind.LOST_TESTS) else (), blame=blame)
    shaky, excused = (next(devices),), (next(devices),)
    calendar.reserve((*shaky, *excused), (end,))
    calendar.add(Kind.FLAKY, shaky, end, end, calendar.tests(shaky, end, end, 1), chance=1.0)
    calendar.add(Kind.KNOWN, excused, 0, end, calendar.tests(excused, 0, end, 2), known=(0, end))


def _quiet_night(calendar: Calendar) -> int:
    """A night on which nothing else begins or ends on any device that is there from the beginning."""
    everyone = [device for device, maker in enumerate(calendar.makers) if not maker.first_night(calendar.nights)]
    for _ in range(100):
        night = calendar.night()
        if calendar.claim(everyone, (night,)):
            break
    return night


def _tests_come_and_go(calendar: Calendar) -> None:
    everyone, last = range(len(calendar.makers)), calendar.nights - 1
    for _ in calendar.tries(4):
        first = _quiet_night(calendar)
        tests = calendar.tests(calendar.running, 0, last, calendar.random.randint(2, 5))
        names = tuple(calendar.new_test(renamed(calendar.cases[test])) for test in tests)
        calendar.add(Kind.RENAME, everyone, first, last, (*tests, *names))
    for _ in calendar.tries(6):
        calendar.add(Kind.NEW_TESTS, everyone, _quiet_night(calendar), last, _new_tests(calendar))
    for _ in calendar.tries(4):
        first, tests = _quiet_night(calendar), _new_tests(calendar)
        device = calendar.random.choice(calendar.on_nightlies[1:])
        calendar.add(Kind.NEW_TESTS, [other for other in everyone if other != device], first, last, tests)
        end = calendar.until(first, 5, 25)
        calendar.reserve((device,), (end + 1,))
        calendar.add(Kind.NEW_FAILING_TESTS, (device,), first, end, tests)


def _new_tests(calendar: Calendar) -> tuple[int, ...]:
    count = calendar.random.randint(2, 6)
    chosen = [calendar.pool.pop(calendar.random.randrange(len(calendar.pool))) for _ in range(count) if calendar.pool]
    return tuple(calendar.new_test(case) for case in chosen)


def _expected_failures(calendar: Calendar) -> None:
    end = calendar.nights - 1
    for _ in calendar.tries(3):
        first = _quiet_night(calendar)
        last = calendar.until(first, 30, 90)
        tests = calendar.tests((0,), 0, end, calendar.random.randint(1, 4))
        calendar.reserve(calendar.running, (last + 1,))
        calendar.add(Kind.CORE_DEFECT, calendar.running, first, last, tests, OutcomeName.XFAILED)
    for kind, a_year in ((Kind.KNOWN, 4), (Kind.KNOWN_EXPIRES, 5), (Kind.KNOWN_PASSES, 4)):
        for _ in calendar.tries(a_year):
            device = calendar.random.choice(calendar.running[1:])
            tests = calendar.tests((device,), 0, end, calendar.random.randint(1, 3))
            turn = calendar.random.randint(calendar.nights // 5, calendar.nights - calendar.nights // 5)
            last, covered = {
                Kind.KNOWN: (end, end),
                Kind.KNOWN_EXPIRES: (calendar.until(turn, 8, 20), turn),
                Kind.KNOWN_PASSES: (turn, calendar.until(turn, 20, 40)),
            }[kind]
            calendar.reserve((device,), {turn, turn + 1, last, last + 1})
            calendar.add(kind, (device,), 0, last, tests, known=(0, covered))


def _vendors_pause(calendar: Calendar) -> None:
    for _ in calendar.tries(2):
        first, last = calendar.span(10, 30)
        device = calendar.random.choice(calendar.running[5:])
        if calendar.claim((device,), range(first, last + 1)):
            calendar.add(Kind.PAUSED, (device,), first, last)


def _flaky_tests(calendar: Calendar) -> None:
    end = calendar.nights - 1
    for _ in range(max(12, len(calendar.cases) * len(calendar.running) // 200)):
        device = calendar.random.choice(calendar.running[1:])
        tests = calendar.tests((device,), 0, end, 1)
        chance = calendar.random.choice((0.01, 0.02, 0.05, 0.15))
        calendar.add(Kind.FLAKY, (device,), 0, end, tests, chance=chance)


def _pytorch_breaks_tests(calendar: Calendar) -> None:
    for kind, a_year in ((Kind.UPSTREAM_REGRESSION, 18), (Kind.SMOKE_BREAK_UPSTREAM, 3)):
        for _ in calendar.tries(a_year):
            first, last = calendar.span(1, 12, fresh=True)
            reference = [0] if calendar.random.random() < 0.6 else []
            around = (first, last + 1)
            devices = [it for it in [*reference, *calendar.some(3, 9)] if calendar.free((it,), around)]
            if len(devices) < 3:
                continue
            of_smoke = kind is Kind.SMOKE_BREAK_UPSTREAM
            size, suite = (2, "smoke") if of_smoke else (calendar.size(), None)
            tests = calendar.tests(devices, first, last, size, suite)
            calendar.reserve(devices, around)
            outcome = calendar.random.choice(_BREAKING)
            calendar.add(kind, devices, first, last, tests, outcome, Blame.UPSTREAM)


def _pytorch_breaks_plugins(calendar: Calendar) -> None:
    for kind, a_year in ((Kind.BUILD_BREAK_UPSTREAM, 5), (Kind.IMPORT_BREAK_UPSTREAM, 3)):
        for _ in calendar.tries(a_year):
            first, last = calendar.span(1, 6, fresh=True)
            whole = range(first, last + 1)
            devices = [device for device in calendar.some(3, 8) if calendar.free((device,), whole)]
            if len(devices) > 1:
                calendar.reserve(devices, whole)
                calendar.add(kind, devices, first, last, blame=Blame.UPSTREAM)


def _pytorch_breaks_one_device(calendar: Calendar) -> None:
    for _ in calendar.tries(8):
        first, last = calendar.span(2, 15, fresh=True)
        device = calendar.random.choice(calendar.on_nightlies[1:])
        if calendar.claim((device,), (first, last + 1)):
            tests = calendar.tests((device,), first, last, calendar.size())
            calendar.add(Kind.UPSTREAM_ON_ONE, (device,), first, last, tests, blame=Blame.UPSTREAM)


def _plugins_break_tests(calendar: Calendar) -> None:
    for kind, a_year in ((Kind.PLUGIN_REGRESSION, 36), (Kind.SMOKE_BREAK_PLUGIN, 6)):
        for _ in calendar.tries(a_year):
            alone = calendar.random.random() < PLUGIN_ALONE
            first, last = calendar.span(1, 20, fresh=False if alone else None)
            device = calendar.random.choice(calendar.running[1:])
            if not calendar.claim((device,), (first, last + 1)):
                continue
            of_smoke = kind is Kind.SMOKE_BREAK_PLUGIN
            size, suite = (1, "smoke") if of_smoke else (calendar.size(), None)
            tests = calendar.tests((device,), first, last, size, suite)
            outcome = calendar.random.choice((*_BREAKING, OutcomeName.TIMED_OUT))
            known = (first + 5, last) if last > first + 9 and not of_smoke else None
            calendar.add(kind, (device,), first, last, tests, outcome, Blame.PLUGIN, known=known)


def _plugins_do_not_work(calendar: Calendar) -> None:
    for kind, a_year in ((Kind.BUILD_BREAK_PLUGIN, 10), (Kind.IMPORT_BREAK_PLUGIN, 6)):
        for _ in calendar.tries(a_year):
            first, last = calendar.span(1, 8)
            device = calendar.random.choice(calendar.running[1:])
            if calendar.claim((device,), range(first, last + 1)):
                calendar.add(kind, (device,), first, last, blame=Blame.PLUGIN)


def _regressions_behind_outages(calendar: Calendar) -> None:
    for _ in calendar.tries(6):
        dark, last = calendar.span(8, 20)
        light = dark + calendar.random.randint(2, 4)
        device = calendar.random.choice(calendar.running[1:])
        if not calendar.claim((device,), {*range(dark, light + 1), last + 1}):
            continue
        tests = calendar.tests((device,), dark, last, calendar.size())
        calendar.add(calendar.random.choice((Kind.OUTAGE, Kind.SILENT)), (device,), dark, light - 1)
        calendar.add(Kind.BEHIND_AN_OUTAGE, (device,), dark + 1, last, tests, blame=Blame.PLUGIN)


def _tests_are_skipped(calendar: Calendar) -> None:
    for _ in calendar.tries(5):
        first, last = calendar.span(1, 6)
        device = calendar.random.choice(calendar.running)
        if calendar.claim((device,), range(first, last + 1)):
            tests = calendar.tests((device,), first, last, calendar.random.randint(3, 12))
            calendar.add(Kind.SKIPPED_TESTS, (device,), first, last, tests, OutcomeName.SKIPPED)


def _reports_go_wrong(calendar: Calendar) -> None:
    _anywhere(calendar, Kind.CUT_REPORT, 10, 2)
    _anywhere(calendar, Kind.EMPTY_REPORT, 4, 2)
    _anywhere(calendar, Kind.RETRY, 25, 1)
    reports_come_twice_or_late(calendar)


def _machines_fail(calendar: Calendar) -> None:
    for _ in calendar.tries(4):
        first, last = calendar.span(1, 2)
        whole = range(first, last + 1)
        devices = [device for device in calendar.some(6, 18) if calendar.free((device,), whole)]
        if len(devices) < 2:
            continue
        calendar.reserve(devices, whole)
        calendar.add(Kind.FETCH_OUTAGE, devices, first, last)
    _anywhere(calendar, Kind.OUTAGE, 60, 4)
    _anywhere(calendar, Kind.SILENT, 16, 6)


def _anywhere(calendar: Calendar, kind: Kind, a_year: float, longest: int) -> None:
    weights = [calendar.makers[device].unreliable for device in calendar.running]
    for _ in calendar.tries(a_year):
        first, last = calendar.span(1, longest)
        device = calendar.random.choices(calendar.running, weights)[0]
        if calendar.claim((device,), range(first, last + 1)):
            calendar.add(kind, (device,), first, last)
