"""How a device's nights went over three months."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from ootci.history.trends import TrendDay
from ootci.model.build import AnyStage, StageName
from ootci.model.duration import duration
from ootci.model.record import Record
from ootci.model.verdict import DeviceVerdict, VerdictName

from ..chart import SMALL, Chart, from_lowest
from ..links import TRENDS, device_path, web_address
from ..looks import PageMaker
from ..publish import File
from ..trend_series import TrendSeries, number
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


class BadNight(Record):
    """Why a night says nothing about a device."""

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
    """Of the failing, those that passed when they were run again with nothing changed."""
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
    page: str | None
    """Address of the permanent page of the run; null where nothing was reported."""
    bad: BadNight | None
    """Why the night says nothing; it has no values then."""
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


def trend_page(
    maker: PageMaker, device: str, verdict: DeviceVerdict, days: Sequence[TrendDay], pages: Mapping[str, str]
) -> Iterator[File]:
    """A device's page of trends, and its file.

    Args:
        maker: makes pages.
        device: its name.
        verdict: what the judge found; the verdicts of past nights are in it.
        days: its last three months.
        pages: the page of the run of each nightly, from the top.

    """
    path = device_path(device, TRENDS)
    trend = TrendSeries(days)
    ran = {name for item in days if item.measured for name in item.measured.stages}
    ours = [name.value for name in StageName]
    names = (*(name for name in ours if name in ran), *sorted(ran.difference(ours)))
    verdicts = {night.plan_id: night.verdict for night in verdict.history}
    nights = (
        _night(item, item.plan_id, verdicts.get(item.plan_id), pages.get(item.plan_id))
        for item in days
        if item.plan_id is not None
    )
    file = TrendFile(
        device=device,
        page=f"{_TOP}{path}",
        first=days[0].day if days else None,
        last=days[-1].day if days else None,
        nights=tuple(nights),
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


def _night(item: TrendDay, plan_id: str, verdict: VerdictName | None, page: str | None) -> TrendNight:
    measured = item.measured
    return TrendNight(
        day=item.day,
        plan_id=plan_id,
        verdict=verdict,
        page=f"{_TOP}{page}" if page else None,
        bad=BadNight(reason=item.bad.reason, link=web_address(item.bad.link)) if item.bad else None,
        tests=TrendTests(**vars(item.tests)) if item.tests else None,
        duration=measured.duration if measured else None,
        queued=measured.queued if measured else None,
        stages=tuple(StageSeconds(name=name, seconds=took) for name, took in measured.stages.items())
        if measured
        else (),
        collected_before=item.collected_before,
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
