"""The tests that failed lately: in which order they stand, and since when they fail."""

from __future__ import annotations

from array import array

import pytest
from unit.render.test_places import table
from unit.samples import plan

from ootci.history.ever_failed import EverFailed
from ootci.stages.render.pages.test_nights import TestNights, recent_failures


def shown(*nights: str) -> list[TestNights]:
    """What is shown of tests ``t0``, ``t1`` ... with these letters."""
    width = len(nights[0])
    plans = [plan(at) for at in range(width)]
    tests = table(*(("smoke", f"smoke/test_x.py::t{number}") for number in range(len(nights))))
    rows = array("I", range(len(nights)))
    found = EverFailed(rows, rows, b"", width, "".join(nights).encode("ascii"))
    return recent_failures(found, plans, {}, tests)[0]


@pytest.mark.parametrize(
    ("nights", "note"),
    [
        ("ppff", "since 3 Nov"),
        ("pppf", "tonight"),
        ("pf_n.f", "since 2 Nov"),
        ("pfsuf", "since 2 Nov"),
        ("pfxf", "tonight"),
        ("pfaf", "tonight"),
        ("pff_", "since 2 Nov"),
        ("pffp", "last failed 3 Nov"),
        ("pfpa", "1 flake"),
        ("papa", "2 flakes"),
    ],
)
def test_since_when_a_test_fails_is_what_every_other_page_says(nights: str, note: str) -> None:
    (row,) = shown(nights)
    assert row.note == note


def test_what_fails_now_stands_first_also_when_the_device_is_silent_tonight() -> None:
    recent = shown("ppffp", "ppf__", "ppppf")
    assert [(row.id.partition("::")[2], row.note) for row in recent] == [
        ("t2", "tonight"),
        ("t1", "since 3 Nov"),
        ("t0", "last failed 4 Nov"),
    ]
