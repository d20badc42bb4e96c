"""Known failures of all devices: what asks for a change first, each with its owner and the days that are left."""

from __future__ import annotations

from datetime import date

import pytest
from unit.render.pages import read
from unit.render.rendering import Rendered
from unit.render.sample import KNOWN_FAILURES, UNSUPPORTED, Sample

from ootci.stages.render.pages.known import LISTED, left

OF_UPSTREAM = 2
"""Declarations of the sample's suite `upstream` that work."""


@pytest.mark.parametrize(("day", "words"), [(31, "last day"), (30, "1 day left")])
def test_the_last_day_counts(day: int, words: str) -> None:
    assert left(date(2027, 1, 31), date(2027, 1, day)) == words


def test_a_list_without_end_is_cut_and_the_rest_is_counted(sampled: Sample, rendered: Rendered) -> None:
    devices = tuple(
        item.model_copy(update={"known_failures": 400 * item.known_failures, "unsupported": 400 * item.unsupported})
        for item in sampled.verdicts.devices
    )
    page = read(rendered(devices=devices) / "known" / "index.html")
    assert [len(table.find("tr")) for table in page.find("tbody")] == [LISTED, LISTED]
    counted = [line.text for line in page.find("p", class_="cut")]
    assert counted == [
        f"{400 * len(KNOWN_FAILURES) - LISTED:,} more entries not named here",
        f"{400 * (len(UNSUPPORTED) + OF_UPSTREAM) - LISTED:,} more declarations not named here",
    ]
