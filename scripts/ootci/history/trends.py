"""What a device's nights were like over three months: a value for each day, or none, and never one in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone

from ootci.model.build import StageStatus
from ootci.model.device import BadRange, Device, bad_range
from ootci.model.plan import Plan, PlannedRun
from ootci.model.run import ReportState, Run

DAYS = 90
"""So many days are looked at, the newest included."""
RESIZED = 0.01
"""The suites changed their size when they collected more or fewer tests by at least this part of what they had."""


@dataclass(frozen=True)
class Tests:
    """The tests of the required suites on one night, at least one of which was executed.

    Attributes:
        passed: tests that passed at first.
        failing: tests that failed at first.
        executed: tests that were executed.
        collected: tests that were collected.
        passed_again: of the failing, those that passed when they were run again with nothing changed.
        complete: whether every required suite reported completely.

    """

    passed: int
    failing: int
    executed: int
    collected: int
    passed_again: int
    complete: bool


@dataclass(frozen=True)
class Measured:
    """What a run says for the trends.

    Attributes:
        tests: its tests; None when none was executed.
        duration: seconds from the first stage's start to the last one's end.
        queued: seconds that it waited for its machine; None when that is not known.
        stages: seconds of each stage that ran.

    """

    tests: Tests | None
    duration: float
    queued: float | None
    stages: Mapping[str, float]


@dataclass(frozen=True)
class TrendDay:
    """One day.

    Attributes:
        day: the day, in UTC.
        plan_id: the nightly of that day that concerned the device: the last one with a report, else the last one. None
            when there was none.
        measured: what was reported; None when nothing was, or when it says nothing.
        bad: why it says nothing.
        collected_before: how many tests the suites had before that day; None unless that changed by ``RESIZED``.

    """

    day: date
    plan_id: str | None = None
    measured: Measured | None = None
    bad: BadRange | None = None
    collected_before: int | None = None

    @property
    def tests(self) -> Tests | None:
        """The tests of that day; None when there are none to speak of."""
        return self.measured.tests if self.measured is not None else None


def trend(
    device: Device, plans: Sequence[Plan], told: Callable[[str], Measured | None], until: datetime | None
) -> list[TrendDay]:
    """The last ``DAYS`` days of a device, oldest first.

    Args:
        device: the device; nights within its ``bad_ranges`` have no values.
        plans: every nightly, oldest first.
        told: by nightly, what the attempt that counts says; None without a report. Only the last days are asked for.
        until: when the newest nightly of any device was planned; None when there has been none.

    """
    if until is None:
        return []
    end = _day(until)
    days = {end - timedelta(days=back): TrendDay(end - timedelta(days=back)) for back in reversed(range(DAYS))}
    for plan in plans:
        day = _day(plan.created_at)
        expected = plan.expected(device.name) if day in days else None
        if expected is None:
            continue
        said, bad = told(plan.id), bad_range(device.bad_ranges, plan.created_at)
        if said is not None or days[day].measured is None:
            days[day] = TrendDay(day, plan.id, said if bad is None else None, bad)
    return _with_sizes(list(days.values()))


def _day(moment: datetime) -> date:
    return moment.astimezone(timezone.utc).date()


def measured(run: Run, expected: PlannedRun) -> Measured:
    """What a run says for the trends; its tests are not asked for."""
    return Measured(
        tests=_tests(run, expected),
        duration=max(0.0, run.duration),
        queued=max(0.0, run.queue_duration) if run.queue_duration is not None else None,
        stages={
            stage.name: max(0.0, stage.duration)
            for stage in run.stages
            if stage.status is not StageStatus.NOT_RUN and math.isfinite(stage.duration)
        },
    )


def _tests(run: Run, expected: PlannedRun) -> Tests | None:
    required = expected.required_suites
    reports = {report.suite: report for report in run.suites if report.suite in required}
    counts = [report.counts for report in reports.values()]
    executed = sum(count.executed for count in counts)
    if executed <= 0:
        return None
    return Tests(
        passed=sum(count.passed for count in counts),
        failing=sum(count.failures for count in counts),
        executed=executed,
        collected=sum(count.total for count in counts),
        passed_again=sum(count.flaky for count in counts),
        complete=required == {name for name, report in reports.items() if report.state is ReportState.COMPLETE},
    )


def _with_sizes(days: list[TrendDay]) -> list[TrendDay]:
    """The days with those marked on which the suites changed their size; a report that is not whole has no size."""
    before: int | None = None
    marked = []
    for item in days:
        tests = item.tests
        if tests is None or not tests.complete:
            marked.append(item)
            continue
        changed = before is not None and abs(tests.collected - before) >= RESIZED * before
        marked.append(replace(item, collected_before=before) if changed and tests.collected != before else item)
        before = tests.collected if changed or before is None else before
    return marked
