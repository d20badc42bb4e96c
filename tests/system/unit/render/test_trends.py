"""Trends: charts that tell nothing that is not so, and the same in words and in a table."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.render.pages import read
from unit.render.sample_runs import FIRST_NIGHT
from unit.samples import device, night, plan, run

from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import DeviceVerdict, VerdictName
from ootci.stages.render.chart import (
    FORTNIGHT,
    LARGE,
    TINY,
    Axis,
    Chart,
    Series,
    Size,
    chart,
    from_lowest,
    from_zero,
    steps,
)
from ootci.stages.render.pages.trends import sparks
from ootci.stages.render.trend_series import DAYS, TrendDay, TrendSeries, number, trend

SIZE = Size(10, 104)
AXIS = Axis(0, 100)


@pytest.mark.parametrize(
    ("values", "path"),
    [
        ((0, 100, 100, 50), "M0 102h10V2h20V52h10"),
        ((None, 100, None, None, 0), "M10 2h10M40 102h10"),
        ((None, None), ""),
        ((), ""),
    ],
)
def test_a_day_without_a_value_is_a_gap_and_never_bridged(values: tuple[float | None, ...], path: str) -> None:
    assert steps(values, AXIS, SIZE) == path


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e12)), min_size=1, max_size=DAYS))
def test_a_line_stays_within_its_chart_and_covers_the_days_with_a_value(values: list[float | None]) -> None:
    known = [value for value in values if value is not None]
    if not known:
        return
    for axis in (from_zero(known), from_lowest(known)):
        path = steps(values, axis, LARGE)
        assert sum(map(int, re.findall(r"h(\d+)", path))) == LARGE.day * len(known)
        heights = [float(found) for found in re.findall(r"(?:M\d+ |V)([\d.]+)", path)]
        assert all(0 <= height <= LARGE.height for height in heights)


def test_counts_and_times_begin_with_zero() -> None:
    assert from_zero([5, 7]) == Axis(0, 7)
    assert from_zero([0, 0]) == Axis(0, 1)
    assert from_lowest([5, 7]) == Axis(5, 7)
    assert from_lowest([5, 5]) == Axis(0, 5)


def test_the_words_tell_what_the_picture_shows() -> None:
    days = [f"2026-11-{day:02d}" for day in range(1, 6)]
    drawn = chart(
        [Series("Failing", "line", (3, None, 0, 7, None))], Axis(0, 7), number, days, hatched=[1, 4], marks=[3]
    )
    assert drawn.words == (
        "Failing: 7 on 2026-11-04; 3 days with a value, lowest 0 on 2026-11-03, highest 7 on 2026-11-04, median 3."
    )
    assert (drawn.top, drawn.bottom, drawn.newest, drawn.marks) == ("7", "0", "7", (24,))
    same = chart([Series("Failing", "line", (4, 4))], Axis(0, 4), number, days[:2])
    assert same.words == "Failing: 4 on 2026-11-02, and the same on all of 2 days with a value."


@given(st.sets(st.integers(0, DAYS - 1), min_size=1))
def test_a_hatching_never_leaves_its_days(places: set[int]) -> None:
    drawn = chart([Series("x", "line", (1,) * DAYS)], AXIS, number, ["day"] * DAYS, hatched=sorted(places), size=TINY)
    points = re.findall(r"[ML](\d+) (\d+)", drawn.hatching)
    assert points
    for (left, top), (right, bottom) in zip(points[::2], points[1::2], strict=True):
        days = range(int(left) // TINY.day, -(-int(right) // TINY.day))
        assert set(days) <= places
        assert {int(top), int(bottom)} <= set(range(TINY.height + 1))


def test_the_calendar_hatches_a_night_that_is_excluded_and_keeps_its_verdict(site: Path) -> None:
    page = read(site / "d" / "cobalt" / "index.html")
    (night,) = page.find("li", class_="hatched")
    assert night.text == "12 Nov INFRA , not counted"
    assert page.find("a", href="https://example.com/incidents/7")


def test_a_silent_device_has_gaps_and_no_zero(site: Path) -> None:
    rows = read(site / "d" / "fjord" / "trends" / "index.html").cells
    assert [row[2:] for row in rows[:3]] == [["no report"]] * 3
    page = read(site / "d" / "indigo" / "trends" / "index.html")
    assert "No test was executed in these days." in page.text
    assert not page.one("main").find("svg", role="img")


def test_a_device_with_nothing_but_gaps_has_no_values() -> None:
    days = [TrendDay((FIRST_NIGHT + timedelta(days=number)).date()) for number in range(DAYS)]
    assert set(sparks(days)) == {None}


def test_a_line_that_moves_little_is_told_in_words_only() -> None:
    """A line is drawn for a level that moves, not for the noise of single nights."""
    level, noise = [100] * FORTNIGHT, [150, 50] * (FORTNIGHT // 2)
    for waits, drawn, spread in (
        ([100], False, "on 1 day"),
        (level + [110] * FORTNIGHT, False, "highest 1 m 50 s"),
        (noise + noise, False, "highest 2 m 30 s"),
        (level + [150] * FORTNIGHT, False, "highest 2 m 30 s"),
        (level + [200] * FORTNIGHT, True, "highest 3 m 20 s"),
    ):
        begun = [night(number) - timedelta(seconds=wait) for number, wait in enumerate(waits)]
        runs = [run(number).model_copy(update={"queued_at": moment}) for number, moment in enumerate(begun)]
        queue = sparks(days(runs, [plan(number) for number in range(len(waits))]))[3]
        assert queue is not None
        assert (queue.chart is not None, queue.range) == (drawn, spread)


def test_a_line_has_no_more_bytes_than_its_budget() -> None:
    """Fifty devices have five lines each on one page: 250 of them must stay below 200 KiB."""
    restless = [1000.0 * (number % 2) + number for number in range(DAYS)]
    assert len(steps(restless, from_zero(restless), TINY)) <= 800


DEVICE = device().device
BAD = {"first": night(2).date(), "last": night(3).date(), "reason": "No network.", "link": "https://example.com/1"}


def _trend(subject: Device, plans: list[Plan], runs: dict[str, Run]) -> list[TrendDay]:
    verdict = DeviceVerdict(device=subject.name, verdict=VerdictName.OK, reason="")
    return trend(subject, verdict, plans, runs, {}, plans[-1].created_at if plans else None)


def days(runs: list[Run], plans: list[Plan], subject: Device = DEVICE) -> list[TrendDay]:
    """The last days, of which there are as many as plans."""
    found = _trend(subject, plans, {item.plan_id: item for item in runs})
    assert len(found) == DAYS
    return found[-len(plans) :]


def test_a_night_without_a_report_or_without_a_nightly_has_no_value() -> None:
    plans = [plan(0), plan(1), plan(2, names=("other",)), plan(3)]
    found = days([run(0), run(3)], plans)
    assert [item.measured is not None for item in found] == [True, False, False, True]
    assert [item.night and item.night.plan_id for item in found] == ["night000", "night001", None, "night003"]


def test_what_was_measured() -> None:
    failing = run(0, integration={"two": "failed", "three": "passed", "four": "skipped", "five": "crashed"})
    queued = failing.model_copy(update={"queued_at": night(0) - timedelta(minutes=2)})
    measured = days([queued], [plan(0)])[0].measured
    assert measured is not None
    assert measured.duration == 300
    assert measured.queued == 120
    tests = measured.tests
    assert tests is not None
    assert (tests.passed, tests.failing, tests.executed, tests.collected, tests.passed_again) == (2, 2, 4, 5, 0)
    assert days([failing], [plan(0)])[0].measured.queued is None


def test_the_versions_of_pytorch_are_labels_where_they_begin_and_there_is_room() -> None:
    versions = ("2.14.0", "2.14.0", "2.15.0", "2.16.0") + ("2.16.0",) * 6
    builds = [TorchBuild(version=version) for version in versions]
    runs = [run(number).model_copy(update={"torch": build}) for number, build in enumerate(builds)]
    found = days(runs, [plan(number) for number in range(len(runs))])
    assert [item.night and item.night.torch for item in found] == [*versions]
    assert TrendSeries(found).torches == [(0.0, "2.14"), (30.0, "2.16")]
    assert TrendSeries([*found[:2] * 5, found[2], found[1]]).torches == [(0.0, "2.14")]
    wide = [replace(found[0], night=None)] * 50
    assert TrendSeries([*wide, *found]).torches == [(88.3, "2.16")]


def test_only_suites_that_the_plan_requires_are_counted() -> None:
    suites = (plan().runs[0].suites[0], plan().runs[0].suites[1].model_copy(update={"required": False}))
    (found,) = days([run(0, integration={"two": "failed"})], [plan(0, suites=suites)])
    assert found.tests is not None
    assert (found.tests.executed, found.tests.failing) == (1, 0)


def test_where_no_test_was_executed_there_are_no_tests_but_a_duration() -> None:
    broken = run(0, smoke={}, integration={}, stages={"build": "failed", "smoke": "not_run"})
    (found,) = days([broken], [plan(0)])
    assert found.tests is None
    assert found.measured is not None
    assert found.measured.seconds("smoke") is None


def test_nights_that_say_nothing_have_their_reason_and_no_value() -> None:
    found = days(
        [run(number) for number in range(5)], [plan(number) for number in range(5)], device(bad_ranges=[BAD]).device
    )
    assert [item.measured is not None for item in found] == [True, True, False, False, True]
    assert [item.bad.reason if item.bad else None for item in found] == [None, None, "No network.", "No network.", None]


def test_of_two_nightlies_on_a_day_the_last_with_a_report_counts() -> None:
    first, second = plan(0), plan(1).model_copy(update={"created_at": night(0) + timedelta(hours=2)})
    assert days([run(0)], [first, second])[-1].night.plan_id == "night000"
    assert days([run(0), run(1)], [first, second])[-1].night.plan_id == "night001"
    assert days([], [first, second])[-1].night.plan_id == "night001"


def test_a_change_of_the_suites_size_is_marked_once_and_a_cut_report_is_none() -> None:
    small, large = {"two": "passed"}, {f"t{number}": "passed" for number in range(9)}
    cut = {"integration": {"state": "truncated"}}
    runs = [
        run(0),
        run(1, integration=large),
        run(2, integration=large),
        run(3, reports=cut),
        run(4, integration=large),
    ]
    found = days([*runs, run(5, integration=small)], [plan(number) for number in range(6)])
    assert [item.night.collected_before for item in found] == [None, 2, None, None, None, 10]


def test_small_changes_are_marked_when_they_add_up() -> None:
    runs = [run(number, smoke={f"t{index}": "passed" for index in range(399 + number)}) for number in range(6)]
    found = days(runs, [plan(number) for number in range(6)])
    assert [item.night.collected_before for item in found] == [None, None, None, None, 400, None]


def test_without_a_nightly_there_are_no_days() -> None:
    assert _trend(DEVICE, [], {}) == []


def test_what_has_gaps_or_other_numbers_is_not_said_to_be_the_same() -> None:
    for values, flat in (((None, 7, 7), True), ((7, None, 7), False), ((7, 7, 8), False), ((None, None, 7), True)):
        assert chart([Series("Executed", "line", values)], AXIS, number, ["a", "b", "c"]).is_flat is flat
    sizes = (range(72), range(72), range(10))
    runs = [run(place, integration={f"t{one}": "passed" for one in size}) for place, size in enumerate(sizes)]
    (rate, *_) = sparks(days(runs, [plan(0), plan(1), plan(2)]))
    assert rate is not None
    assert (rate.newest, rate.range) == ("11 of 11", "lowest 73 of 73")


def test_nights_that_jump_are_pale_behind_their_mean() -> None:
    days = [f"day {number}" for number in range(10)]

    def drawn(*values: float | None) -> Chart:
        series = Series("Flaky", "line", values)
        return chart((series,), from_zero(series.known), number, days)

    jumping = drawn(0, 1, 0, 1, None, 1, 0, 1, 0, 2)
    assert (jumping.is_noisy, [look for look, _ in jumping.lines]) == (True, ["line", "noise"])
    assert jumping.lines[1][1] == steps((0, 1, 0, 1, None, 1, 0, 1, 0, 2), from_zero([2]), LARGE)
    assert Series("Flaky", "line", (0, 1, 0, 2, None, 3)).means == (0.75, 0.75, 1.2, 1.2, None, pytest.approx(5 / 3))
    assert not drawn(*[3] * 5, *[1] * 5).is_noisy
    assert [look for look, _ in drawn(*[3] * 5, *[1] * 5).lines] == ["line"]
