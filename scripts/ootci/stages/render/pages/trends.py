"""How the nights of all devices went over three months: a row of small charts for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ootci.model.durations import duration
from ootci.model.outcome import PassRate

from ..chart import TINY, Axis, Chart, Series
from ..trend_series import DAYS, TrendDay, TrendSeries, number
from ..words import day, many

LOWEST_RATE = 0.95
"""A pass rate that never was lower is drawn from here, so that one failing test does not look like a collapse."""


@dataclass(frozen=True)
class Spark:
    """A small chart with its newest value and its range; the chart is None where there is no value."""

    label: str
    chart: Chart | None = None
    words: str = ""
    newest: str = ""
    range: str = ""


@dataclass(frozen=True)
class TrendRow:
    """One device on the page of all devices."""

    name: str
    newest: str | None
    sparks: tuple[Spark, ...]


@dataclass(frozen=True)
class TrendsPage:
    """Everything that the page of all devices shows."""

    first: str
    last: str
    rows: tuple[TrendRow, ...]


def trends_page(rows: Iterable[TrendRow], planned: datetime | None) -> TrendsPage:
    """The page of all devices.

    Args:
        rows: their rows, in the order in which they are shown.
        planned: when the newest nightly was planned; None when there has been none.

    """
    if planned is None:
        return TrendsPage("", "", tuple(rows))
    return TrendsPage(day(planned - timedelta(days=DAYS - 1)), day(planned), tuple(rows))


def trend_row(device: str, days: Sequence[TrendDay]) -> TrendRow:
    """The device's row on the page of all devices."""
    trend = TrendSeries(days)
    known = [item.day.isoformat() for item in days if item.measured is not None]
    return TrendRow(
        name=device,
        newest=known[-1] if known and known[-1] != trend.names[-1] else None,
        sparks=(
            _rate(trend, days),
            _spark(trend, trend.of_tests("Executed", lambda tests: tests.executed), number),
            _spark(trend, trend.of_runs("Duration", lambda run: run.duration), duration),
            _spark(trend, trend.of_runs("Queue", lambda run: run.queued), duration),
            _spark(trend, trend.of_tests("Passed again", lambda tests: tests.passed_again), number),
        ),
    )


def _rate(trend: TrendSeries, days: Sequence[TrendDay]) -> Spark:
    """Passed of executed; no ratio is told without its two numbers, so that the chart's own words do not do."""
    series = trend.of_tests("Passed", lambda tests: tests.passed / tests.executed)
    rates = [PassRate(passed=item.tests.passed, executed=item.tests.executed) for item in days if item.tests]
    drawn = trend.chart(series, words=str, axis=_rates, size=TINY)
    if drawn is None:
        return Spark(series.name)
    newest, lowest = str(rates[-1]), str(min(rates, key=lambda rate: rate.passed / rate.executed))
    words = f"Passed: newest {newest}, lowest {lowest}; {many(len(rates), 'day')} with a value."
    return Spark(series.name, drawn, words, newest, f"lowest {lowest}")


def _rates(values: Sequence[float]) -> Axis:
    return Axis(min(LOWEST_RATE, *values), 1.0)


def _spark(trend: TrendSeries, series: Series, words: Callable[[float], str]) -> Spark:
    drawn = trend.chart(series, words=words, size=TINY)
    if drawn is None:
        return Spark(series.name)
    low, high = words(min(series.known)), words(max(series.known))
    spread = f"{low} to {high}" if words is number else f"highest {high}"
    return Spark(series.name, drawn, drawn.words, drawn.newest, spread)
