"""The days of a device over three months: a value for each day, or none, and never one in between."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from itertools import groupby
from typing import Any

from ootci.model.build import AnyStage, StageStatus
from ootci.model.device import BadRange, Device, bad_range
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import Record
from ootci.model.run import ReportState, Run
from ootci.model.verdict import DeviceVerdict, VerdictName

from .chart import LARGE, Axis, Chart, Series, Size, chart, from_zero
from .links import web_address
from .status import VERDICTS
from .text import one_line

DAYS = 90
"""Number of days, the newest included."""
LABEL_SHARE = 15
"""Percent of a chart's width that the label of a PyTorch version takes."""
RESIZED = 0.01
"""The suites changed their size when they collected more or fewer tests by at least this part of what they had."""
_TOP = "../../../"


class BadNight(Record):
    """Why a night is excluded for a device."""

    reason: str
    """One sentence."""
    link: str | None
    """Where one can read about it."""


class TrendTests(Record):
    """Tests of the required suites, at least one of which was executed."""

    passed: int
    """Tests that passed at first."""
    failing: int
    """Tests that failed at first."""
    executed: int
    """Tests that were executed."""
    collected: int
    """Tests that were collected."""
    passed_again: int
    """Of the failing, those that passed on retry with nothing changed."""
    complete: bool
    """Whether every required suite reported completely."""


class StageSeconds(Record):
    """A stage that ran."""

    name: AnyStage
    """The stage."""
    seconds: float
    """How long it took."""


class TrendNight(Record):
    """A day with a nightly that concerned the device."""

    day: date
    """The day, in UTC."""
    plan_id: str
    """Its nightly: the last one with a report, else the last one."""
    verdict: VerdictName | None
    """The verdict; null where it is not kept."""
    torch: str | None
    """The version of PyTorch that was tested; null when none was reported or the night is excluded."""
    page: str | None
    """Address of the permanent page of the run; null where nothing was reported."""
    bad: BadNight | None
    """Why the night is excluded; it has no values then."""
    tests: TrendTests | None
    """Its tests; null when none was executed."""
    duration: float | None
    """Seconds from the first stage's start to the last one's end; null when nothing was reported."""
    queued: float | None
    """Seconds that the run waited for its machine; null when that is not known."""
    stages: tuple[StageSeconds, ...]
    """Every stage that ran."""
    collected_before: int | None
    """How many tests the suites had before; null unless their size changed on that day."""

    def seconds(self, stage: str) -> float | None:
        """How long a stage took; None where it did not run."""
        return next((item.seconds for item in self.stages if item.name == stage), None)


@dataclass(frozen=True)
class TrendDay:
    """One day, in UTC, with its nightly, and the range of bad nights that it is in."""

    day: date
    night: TrendNight | None = None
    bad: BadRange | None = None

    @property
    def measured(self) -> TrendNight | None:
        """The nightly, if the device reported on it and it is not excluded."""
        return self.night if self.night is not None and self.night.duration is not None else None

    @property
    def tests(self) -> TrendTests | None:
        """The tests of that day; None when there are none to speak of."""
        return self.night.tests if self.night is not None else None


def trend(
    device: Device,
    verdict: DeviceVerdict,
    plans: Sequence[Plan],
    runs: Mapping[str, Run],
    pages: Mapping[str, str],
    until: datetime | None,
) -> list[TrendDay]:
    """The last ``DAYS`` days of a device, oldest first.

    Args:
        device: the device; nights within its ``bad_ranges`` have no values.
        verdict: has the verdicts of past nights.
        plans: every nightly, oldest first.
        runs: by nightly, the attempt that counts.
        pages: by nightly, the page of that attempt, from the top.
        until: when the newest nightly of any device was planned; None when there has been none.

    """
    if until is None:
        return []
    end = _day(until)
    days = {end - timedelta(days=back): TrendDay(end - timedelta(days=back)) for back in reversed(range(DAYS))}
    verdicts = {night.plan_id: night.verdict for night in verdict.history}
    for plan in plans:
        day = _day(plan.created_at)
        expected = plan.expected(device.name) if day in days else None
        run = runs.get(plan.id)
        if expected is not None and (run is not None or days[day].measured is None):
            bad = bad_range(device.bad_ranges, plan.created_at)
            night = TrendNight(
                day=day,
                plan_id=plan.id,
                verdict=verdicts.get(plan.id),
                page=f"{_TOP}{pages[plan.id]}" if plan.id in pages else None,
                bad=BadNight(reason=bad.reason, link=web_address(bad.link)) if bad else None,
                collected_before=None,
                **_measured(run if bad is None else None, expected),
            )
            days[day] = TrendDay(day, night, bad)
    return _with_sizes(list(days.values()))


def _day(moment: datetime) -> date:
    return moment.astimezone(timezone.utc).date()


def _measured(run: Run | None, expected: PlannedRun) -> dict[str, Any]:
    """The values of a night; none without a run."""
    if run is None:
        return {"torch": None, "tests": None, "duration": None, "queued": None, "stages": ()}
    stages = {
        stage.name: max(0.0, stage.duration)
        for stage in run.stages
        if stage.status is not StageStatus.NOT_RUN and math.isfinite(stage.duration)
    }
    return {
        "torch": one_line(run.torch.version, 60) if run.torch else None,
        "tests": _tests(run, expected),
        "duration": max(0.0, run.duration),
        "queued": max(0.0, run.queue_duration) if run.queue_duration is not None else None,
        "stages": tuple(StageSeconds(name=name, seconds=took) for name, took in stages.items()),
    }


def _tests(run: Run, expected: PlannedRun) -> TrendTests | None:
    required = expected.required_suites
    reports = {report.suite: report for report in run.suites if report.suite in required}
    counts = [report.counts for report in reports.values()]
    executed = sum(count.executed for count in counts)
    if executed <= 0:
        return None
    return TrendTests(
        passed=sum(count.passed for count in counts),
        failing=sum(count.failures for count in counts),
        executed=executed,
        collected=sum(count.total for count in counts),
        passed_again=sum(count.flaky for count in counts),
        complete=required == {name for name, report in reports.items() if report.state is ReportState.COMPLETE},
    )


def _with_sizes(days: list[TrendDay]) -> list[TrendDay]:
    """The days with those marked on which the suites changed their size; an incomplete report has no size."""
    before: int | None = None
    marked = []
    for item in days:
        tests = item.tests
        if item.night is not None and tests is not None and tests.complete:
            changed = before is not None and abs(tests.collected - before) >= RESIZED * before
            if changed and tests.collected != before:
                item = replace(item, night=item.night.model_copy(update={"collected_before": before}))
            before = tests.collected if changed or before is None else before
        marked.append(item)
    return marked


class TrendSeries:
    """The days of a device, oldest first."""

    def __init__(self, days: Sequence[TrendDay]) -> None:
        self._days = days
        self.names = [item.day.isoformat() for item in days]
        self._hatched = [place for place, item in enumerate(days) if item.bad is not None]
        self._marks = [
            place for place, item in enumerate(days) if item.night and item.night.collected_before is not None
        ]

    @property
    def strip(self) -> list[tuple[int, int, str]]:
        """The verdicts as a strip: of each row of days with one look, where it begins, how long it is, and the look."""
        strip, place = [], 0
        looks = [VERDICTS[item.night.verdict].look if item.night and item.night.verdict else "" for item in self._days]
        for look, group in groupby(looks):
            length = len(list(group))
            strip.append((place, length, look))
            place += length
        return [part for part in strip if part[2]]

    @property
    def torches(self) -> list[tuple[float, str]]:
        """Where the minor version of PyTorch changed, in percent of the width; of two labels too close, the later."""
        found: list[tuple[float, str]] = []
        before = None
        for place, item in enumerate(self._days):
            version = ".".join(item.night.torch.split(".")[:2]) if item.night and item.night.torch else before
            if version and version != before:
                at = round(100 * place / len(self._days), 1)
                if found and at - found[-1][0] < LABEL_SHARE:
                    found.pop()
                if not found or version != found[-1][1]:
                    found.append((at, version))
            before = version
        return found

    def of_tests(self, name: str, value: Callable[[TrendTests], float], look: str = "line") -> Series:
        """A series of what the tests say."""
        return Series(name, look, tuple(value(item.tests) if item.tests else None for item in self._days))

    def of_runs(self, name: str, value: Callable[[TrendNight], float | None]) -> Series:
        """A series of what the runs say."""
        return Series(name, "line", tuple(value(item.measured) if item.measured else None for item in self._days))

    def chart(
        self,
        series: Series,
        *more: Series,
        words: Callable[[float], str],
        axis: Callable[[Sequence[float]], Axis] = from_zero,
        size: Size = LARGE,
    ) -> Chart | None:
        """A chart of series that share an axis; None when there is no value."""
        every = (series, *more)
        values = [value for item in every for value in item.known]
        if not series.known:
            return None
        return chart(every, axis(values), words, self.names, self._hatched, self._marks, size)


def number(value: float) -> str:
    """A whole number: ``1,204``."""
    return f"{value:,.0f}"
