"""How a device's nights went over three months."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from ootci.model.build import StageName
from ootci.model.durations import duration

from ..chart import SMALL, Chart, from_lowest
from ..links import TRENDS, device_path
from ..looks import PageMaker
from ..publish import File
from ..trend_series import TrendDay, TrendNight, TrendSeries, number
from ..words import many
from .published import Compact, api_file

_TOP = "../../../"


@dataclass(frozen=True)
class Titled:
    """A chart under its heading; without values there is none, and ``absent`` says so."""

    id: str
    title: str
    about: str
    absent: str
    chart: Chart | None


class TrendFile(Compact):
    """trends/<device>.json: the last three months of a device; days without a nightly of it are not there."""

    device: str
    """Name of the device."""
    page: str
    """Address of the same for people."""
    first: date | None
    """The first day that was looked at; null when there has been no nightly."""
    last: date | None
    """The last day that was looked at."""
    nights: tuple[TrendNight, ...]
    """Oldest first."""


def trend_page(maker: PageMaker, device: str, days: Sequence[TrendDay]) -> Iterator[File]:
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
        stages=tuple(_stage(trend, name) for name in names),
        stage_names=names,
        bad=tuple(dict.fromkeys(item.bad for item in days if item.bad)),
    )
    yield api_file(f"trends/{device}.json", file)


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
    series = trend.of_runs(name, lambda run: run.seconds(name))
    return Titled(f"stage-{name}", name, "", "", trend.chart(series, words=duration, size=SMALL))


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
