"""Small renderings: times, and nights in words."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from unit.render.sample_runs import FIRST_NIGHT
from unit.samples import night

from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import DeviceVerdict, Night, VerdictName
from ootci.stages.render.nights import NightsOf, broken_streaks, in_words, night_grid, with_marks
from ootci.stages.render.words import day, moment


def verdict(*nights: VerdictName) -> DeviceVerdict:
    history = tuple(
        Night(plan_id=f"night-{number}", date=FIRST_NIGHT + timedelta(days=number), verdict=name)
        for number, name in enumerate(nights)
    )
    return DeviceVerdict(device="x", verdict=nights[-1], reason="r", history=history)


def test_times_are_utc_whatever_they_were_written_in() -> None:
    there = timezone(timedelta(hours=9))
    assert moment(datetime(2026, 11, 21, 3, 59, 59, tzinfo=there)) == "2026-11-20 18:59 UTC"
    assert day(datetime(2026, 11, 21, 3, 59, 59, tzinfo=there)) == "2026-11-20"


def test_columns_of_a_grid_keep_weeks_apart_and_name_them_and_the_versions_of_torch() -> None:
    nights = [(f"night-{number}", FIRST_NIGHT + timedelta(days=number)) for number in range(9)]  # a Sunday first
    builds = {plan_id: TorchBuild(version="2.15.0" if plan_id > "night-4" else "2.14.1") for plan_id, _ in nights}
    grid = night_grid(nights, builds)
    assert list(grid.columns.values()) == [0, *range(15, 15 + 7 * 11, 11), 15 + 7 * 11 + 4]
    assert [(label.x, label.text) for label in grid.weeks] == [(0, "8 Nov")]
    assert [(label.x, label.text) for label in grid.torches] == [(0, "2.14"), (grid.columns["night-5"], "2.15")]
    ended = verdict(VerdictName.OK, VerdictName.INFRA)
    row = grid.row(ended, {"night-1": "n/1/index.html"})
    assert [cell.look for cell in row.cells] == ["ok", "silent", *["gap"] * 7]
    assert row.cells[1].words == "Mon 9 Nov 2026: INFRA · torch 2.14.1"
    assert [cell.href for cell in row.cells[:2]] == [None, "n/1/index.html"]
    never = DeviceVerdict(device="x", verdict=VerdictName.NEVER_RAN, reason="r")
    assert grid.row(never, {}) == NightsOf(grid.width, (), "never ran")


def test_nights_on_which_many_devices_broke_are_marked_and_silence_ends_no_break() -> None:
    ok, broke, silent = VerdictName.OK, VerdictName.REGRESSED, VerdictName.NO_DATA
    devices = [verdict(ok, broke, silent, broke)] * 2 + [verdict(ok, broke, ok, broke)]
    grid = night_grid([(f"night-{number}", FIRST_NIGHT + timedelta(days=number)) for number in range(4)])
    marks = with_marks(grid, devices).marks
    assert [(mark.x, mark.text, mark.href) for mark in marks] == [(15, "3", "n/night-1/index.html")]


def test_nights_in_words_keep_their_order() -> None:
    history = verdict(VerdictName.OK, VerdictName.OK, VerdictName.NO_DATA, VerdictName.OK).history
    assert in_words(history) == (
        "2 nights OK from 2026-11-08, then 1 night NO DATA from 2026-11-10, then 1 night OK from 2026-11-11"
    )
    assert in_words(()) == "no nights yet"


KINDS = {
    "b": VerdictName.FAILING,
    "o": VerdictName.OK,
    "-": VerdictName.NO_DATA,
}


@pytest.mark.parametrize(
    ("nights", "streaks"),
    [
        ("obb", [(1, 1), (2, 1)]),
        ("bob", [(0, 0), (2, 2)]),
        ("b-b", [(0, 0), (2, 0)]),
        # A capital letter is a night on a torch that stood in for the nightly: it neither begins nor ends a streak.
        ("oBb", [(2, 2)]),
        ("bOb", [(0, 0), (2, 0)]),
        ("bBb", [(0, 0), (2, 0)]),
    ],
)
def test_a_streak_goes_on_until_a_night_as_expected(nights: str, streaks: list[tuple[int, int]]) -> None:
    history = [
        Night(
            plan_id=f"night{number}",
            date=night(0) + timedelta(days=number),
            verdict=KINDS[letter.lower()],
            fallback=letter.isupper(),
        )
        for number, letter in enumerate(nights)
    ]
    assert [(history.index(one), history.index(first)) for one, first in broken_streaks(history)] == streaks
