"""How a device's nights went over three months."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.history.trends import Measured, Tests, TrendDay
from ootci.model.build import StageName
from ootci.model.device import Device
from ootci.model.verdict import DeviceVerdict

from .bad_ranges import BadRangeView, bad_ranges
from .chart import SMALL, Chart, from_lowest
from .status import VERDICTS, Status
from .text import one_line
from .trend_series import TrendSeries, number
from .words import duration, many


@dataclass(frozen=True)
class Titled:
    """A chart under its heading; without values there is none, and ``absent`` says so."""

    id: str
    title: str
    about: str
    absent: str
    chart: Chart | None


@dataclass(frozen=True)
class Resized:
    """A day on which the suites changed their size."""

    day: str
    words: str


@dataclass(frozen=True)
class DayRow:
    """One night in the table."""

    day: str
    href: str | None
    status: Status | None
    bad: str | None
    tests: Tests | None
    measured: Measured | None


@dataclass(frozen=True)
class TrendPage:
    """Everything that a device's page of trends shows."""

    device: Device
    status: Status
    first: str
    last: str
    gaps: str
    charts: tuple[Titled, ...]
    stages: tuple[Titled, ...]
    stage_names: tuple[str, ...]
    resized: tuple[Resized, ...]
    bad: tuple[BadRangeView, ...]
    rows: tuple[DayRow, ...]


def trend_page(device: Device, verdict: DeviceVerdict, days: Sequence[TrendDay], hrefs: Mapping[str, str]) -> TrendPage:
    """A device's page of trends.

    Args:
        device: the device.
        verdict: what the judge found; the verdicts of past nights are in it.
        days: its last three months.
        hrefs: the page of the run of each nightly, relative to this page.

    """
    trend = TrendSeries(days)
    ran = {name for item in days if item.measured for name in item.measured.stages}
    ours = [name.value for name in StageName]
    names = (*(name for name in ours if name in ran), *sorted(ran.difference(ours)))
    verdicts = {night.plan_id: night.verdict for night in verdict.history}
    return TrendPage(
        device=device,
        status=VERDICTS[verdict.verdict],
        first=trend.names[0] if days else "",
        last=trend.names[-1] if days else "",
        gaps=_gaps(days),
        charts=_charts(trend),
        stages=tuple(_stage(trend, name) for name in names),
        stage_names=names,
        resized=tuple(
            Resized(item.day.isoformat(), f"{item.collected_before:,} to {many(item.tests.collected, 'test')}")
            for item in days
            if item.collected_before is not None and item.tests is not None
        ),
        bad=bad_ranges(item.bad for item in days),
        rows=tuple(
            DayRow(
                day=item.day.isoformat(),
                href=hrefs.get(item.plan_id),
                status=VERDICTS[verdicts[item.plan_id]] if item.plan_id in verdicts else None,
                bad=one_line(item.bad.reason, 120) if item.bad else None,
                tests=item.tests,
                measured=item.measured,
            )
            for item in reversed(days)
            if item.plan_id is not None
        ),
    )


def _charts(trend: TrendSeries) -> tuple[Titled, ...]:
    executed = trend.of_tests("Executed", lambda tests: tests.executed, "line dashed")
    passed = trend.of_tests("Passed", lambda tests: tests.passed)
    failing = trend.of_tests("Failing", lambda tests: tests.failing)
    again = trend.of_tests("Passed again", lambda tests: tests.passed_again)
    took = trend.of_runs("Duration", lambda run: run.duration)
    queued = trend.of_runs("Queue", lambda run: run.queued)
    no_tests = "No test was executed in these days."
    return (
        Titled(
            "tests",
            "Passed tests, and executed ones (dashed)",
            "of the required suites; the axis begins at the lowest value",
            no_tests,
            trend.chart(passed, executed, words=number, axis=from_lowest),
        ),
        Titled(
            "failing",
            "Failing tests",
            "at first, known failures included",
            no_tests,
            trend.chart(failing, words=number),
        ),
        Titled(
            "again",
            "Flaky tests",
            "failed, and passed when they were run again the same night with nothing changed",
            no_tests,
            trend.chart(again, words=number),
        ),
        Titled(
            "duration",
            "Duration of the run",
            "from the first stage to the last; a run that broke early is short",
            "Nothing was reported in these days.",
            trend.chart(took, words=duration),
        ),
        Titled(
            "queue",
            "Time in the queue",
            "until the machine began; of first attempts",
            "No run of these days says how long it waited.",
            trend.chart(queued, words=duration),
        ),
    )


def _stage(trend: TrendSeries, name: str) -> Titled:
    series = trend.of_runs(name, lambda run: run.stages.get(name))
    return Titled(f"stage-{name}", name, "", "", trend.chart(series, words=duration, size=SMALL))


def _gaps(days: Sequence[TrendDay]) -> str:
    """How many days have no value, and why."""
    unplanned = sum(item.plan_id is None for item in days)
    bad = sum(item.bad is not None for item in days)
    silent = sum(item.plan_id is not None and item.measured is None and item.bad is None for item in days)
    untested = sum(item.measured is not None and item.tests is None for item in days)
    parts = [
        (silent, "without a report"),
        (untested, "without an executed test"),
        (bad, "that must not be counted"),
        (unplanned, "without a nightly of this device"),
    ]
    found = [f"{many(count, 'day')} {why}" for count, why in parts if count]
    return f"Gaps: {', '.join(found)}." if found else "There is a value for every day."
