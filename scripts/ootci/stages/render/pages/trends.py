"""How nights went over three months: a row of small charts for each device, and a page of a device's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ootci.model.build import StageName
from ootci.model.outcome import PassRate
from ootci.model.words import duration, many

from ..chart import SMALL, TINY, Axis, Chart, Series, from_lowest
from ..links import TRENDS, device_path
from ..page_maker import PageMaker
from ..publish import File
from ..trend_series import DAYS, TrendDay, TrendNight, TrendSeries, number
from .published import Compact, WithPage, api_file

LOWEST_RATE = 0.95
"""A pass rate that never was lower is drawn from here, so that one failing test does not look like a collapse."""
LEAST_MOVE = 0.35
"""On the page of all devices, a line whose level moves by a smaller part of its chart's height is told in words
only: the night to night noise of a queue is no trend."""
_TOP = "../../../"


class TrendFile(WithPage, Compact):
    """trends/<device>.json: the last three months of a device; days without a nightly of it are not there."""

    device: str
    """Name of the device."""
    first: date | None
    """The first day that was looked at; null when there has been no nightly."""
    last: date | None
    """The last day that was looked at."""
    nights: tuple[TrendNight, ...]
    """Oldest first."""


@dataclass(frozen=True)
class Spark:
    """A small chart with its newest value and its range; ``chart`` is None where its level did not move."""

    chart: Chart | None
    words: str
    newest: str
    range: str


def trends_page(maker: PageMaker, devices: Mapping[str, Sequence[TrendDay]]) -> File:
    """The page of all devices, in this order."""
    planned = maker.verdicts.planned_at
    return maker.show(
        "trends/index.html",
        "trends.html",
        first=planned - timedelta(days=DAYS - 1) if planned else None,
        last=planned,
        least_move=LEAST_MOVE,
        rows={name: (_newest(days), sparks(days)) for name, days in devices.items()},
    )


def _newest(days: Sequence[TrendDay]) -> date | None:
    """The day of the newest value where that is not the last day."""
    known = [item.day for item in days if item.measured is not None]
    return known[-1] if known and known[-1] != days[-1].day else None


def sparks(days: Sequence[TrendDay]) -> tuple[Spark | None, ...]:
    """A device's charts on the page of all devices; None where there is no value."""
    trend = TrendSeries(days)
    return (
        _rate(trend, days),
        _spark(trend, trend.of_tests("Executed", lambda tests: tests.executed), number),
        _spark(trend, trend.of_runs("Duration", lambda run: run.duration), duration),
        _spark(trend, trend.of_runs("Queue", lambda run: run.queued), duration),
        _spark(trend, trend.of_tests("Passed again", lambda tests: tests.passed_again), number),
    )


def _rate(trend: TrendSeries, days: Sequence[TrendDay]) -> Spark | None:
    """Passed of executed; no ratio is told without its two numbers, so that the chart's own words do not do."""
    series = trend.of_tests("Passed", lambda tests: tests.passed / tests.executed)
    rates = [PassRate(passed=item.tests.passed, executed=item.tests.executed) for item in days if item.tests]
    drawn = trend.chart(series, words=str, axis=lambda values: Axis(min(LOWEST_RATE, *values), 1.0), size=TINY)
    if drawn is None:
        return None
    newest, lowest = str(rates[-1]), str(min(rates, key=lambda rate: rate.passed / rate.executed))
    words = f"Passed: newest {newest}, lowest {lowest}; {many(len(rates), 'day')} with a value."
    spread = _on_days(drawn) if len(set(rates)) == 1 else f"lowest {lowest}"
    return Spark(_moving(drawn), words, newest, spread)


def _spark(trend: TrendSeries, series: Series, words: Callable[[float], str]) -> Spark | None:
    drawn = trend.chart(series, words=words, size=TINY)
    if drawn is None:
        return None
    low, high = words(min(series.known)), words(max(series.known))
    spread = _on_days(drawn) if low == high else f"{low} to {high}" if words is number else f"highest {high}"
    return Spark(_moving(drawn), drawn.words, drawn.newest, spread)


def _moving(drawn: Chart) -> Chart | None:
    return drawn if drawn.moves >= LEAST_MOVE else None


def _on_days(drawn: Chart) -> str:
    return f"on {'all ' if drawn.is_flat and drawn.known > 1 else ''}{many(drawn.known, 'day')}"


def device_trends_page(maker: PageMaker, device: str, days: Sequence[TrendDay]) -> Iterator[File]:
    """A device's page of trends over its last days, and its file."""
    path = device_path(device, TRENDS)
    trend = TrendSeries(days)
    ran = {stage.name for item in days if item.night for stage in item.night.stages}
    ours = [name.value for name in StageName]
    names = (*(name for name in ours if name in ran), *sorted(ran.difference(ours)))
    file = TrendFile(
        device=device,
        page=f"{_TOP}{path}",
        first=days[0].day if days else None,
        last=days[-1].day if days else None,
        nights=tuple(item.night for item in days if item.night),
    )
    yield maker.show(
        path,
        "device_trends.html",
        page=file,
        gaps=_gaps(days),
        charts=_charts(trend),
        strip=trend.strip,
        torches=trend.torches,
        stages={name: _stage(trend, name) for name in names},
        bad=tuple(dict.fromkeys(item.bad for item in days if item.bad)),
    )
    yield api_file(f"trends/{device}.json", file)


def _charts(trend: TrendSeries) -> dict[str, Chart | None]:
    executed = trend.of_tests("Executed", lambda tests: tests.executed, "line dashed")
    passed = trend.of_tests("Passed", lambda tests: tests.passed)
    failing = trend.of_tests("Failing", lambda tests: tests.failing)
    again = trend.of_tests("Passed again", lambda tests: tests.passed_again)
    took = trend.of_runs("Duration", lambda run: run.duration)
    queued = trend.of_runs("Queue", lambda run: run.queued)
    return {
        "tests": trend.chart(passed, executed, words=number, axis=from_lowest),
        "failing": trend.chart(failing, words=number),
        "again": trend.chart(again, words=number),
        "duration": trend.chart(took, words=duration),
        "queue": trend.chart(queued, words=duration),
    }


def _stage(trend: TrendSeries, name: str) -> Chart | None:
    return trend.chart(trend.of_runs(name, lambda run: run.seconds(name)), words=duration, size=SMALL)


def _gaps(days: Sequence[TrendDay]) -> str:
    """How many days have no value, and why."""
    unplanned = sum(item.night is None for item in days)
    bad = sum(item.bad is not None for item in days)
    silent = sum(item.night is not None and item.measured is None and item.bad is None for item in days)
    untested = sum(item.measured is not None and item.tests is None for item in days)
    parts = [
        (silent, "without a report"),
        (untested, "without an executed test"),
        (bad, "that must not be counted"),
        (unplanned, "without a nightly of this device"),
    ]
    found = [f"{many(count, 'day')} {why}" for count, why in parts if count]
    return f"Gaps: {', '.join(found)}." if found else "There is a value for every day."
