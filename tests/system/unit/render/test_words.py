"""Small renderings: times, nights in words, the command that reproduces a test."""

from __future__ import annotations

import shlex
from datetime import datetime, timedelta, timezone

import pytest
from unit.render.sample_runs import FIRST_NIGHT

from ootci.model.verdict import DeviceVerdict, Night, VerdictName
from ootci.stages.render.failures import reproduce
from ootci.stages.render.nights import FRONT_NIGHTS, in_words, strip
from ootci.stages.render.words import day, many, moment


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


def test_numbers_with_their_nouns() -> None:
    assert [many(count, "night") for count in (0, 1, 2, 1204)] == ["0 nights", "1 night", "2 nights", "1,204 nights"]
    assert many(2, "capability", "capabilities") == "2 capabilities"


def test_a_short_history_ends_at_the_right_like_every_other() -> None:
    shown = strip(verdict(VerdictName.OK, VerdictName.INFRA), ["night-0", "night-1"])
    assert [cell.glyph for cell in shown.cells] == ["gap"] * (FRONT_NIGHTS - 2) + ["check", "alert"]


def test_nights_in_words_keep_their_order() -> None:
    history = verdict(VerdictName.OK, VerdictName.OK, VerdictName.NO_DATA, VerdictName.OK).history
    assert in_words(history) == (
        "2 nights OK from 2026-11-08, then 1 night NO DATA from 2026-11-10, then 1 night OK from 2026-11-11"
    )
    assert in_words(()) == "no nights yet"


@pytest.mark.parametrize(
    "test", ["ops/x.py::y[a b-'c'-$(reboot)]", "smoke/x`reboot`", "ops/a\nb; reboot", "ops/--help"]
)
def test_the_command_keeps_a_test_id_one_word(test: str) -> None:
    words = shlex.split(reproduce(test, "openreg") or "")
    assert words[:6] == ["cd", "tests/device", "&&", "python", "-m", "pytest"]
    assert words[6:] == [" ".join(test.split()), "--device", "openreg"]


@pytest.mark.parametrize("test", ["mine/tests.test_x::test_y", "smokey/test_x.py::test_y", "--help"])
def test_there_is_no_command_for_a_test_of_a_vendors_suite(test: str) -> None:
    assert reproduce(test, "openreg") is None
