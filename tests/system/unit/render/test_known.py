"""Known failures of all devices: what asks for a change first, each with its owner and the days that are left."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.rendering import Rendered
from unit.render.sample import KNOWN_FAILURES, UNSUPPORTED, Sample

from ootci.stages.render.pages.known import LISTED, left

OF_UPSTREAM = 2
"""Declarations of the sample's suite `upstream` that work."""


@pytest.fixture(scope="module")
def tables(site: Path) -> list[Element]:
    return read(site / "known" / "index.html").find("tbody")


def test_what_asks_for_a_change_stands_first_and_then_what_expires_first(tables: list[Element]) -> None:
    rows = [[cell.text for cell in row.find("td")] for row in tables[0].find("tr")]
    assert [row[0] for row in rows] == ["expired", "passes now", "matches no test", "known", "other torch"]
    assert len(rows) == len(KNOWN_FAILURES)
    assert rows[0][1:5] == [
        "integration/test_optimizers.py::* No fused kernels yet.",
        "issue",
        "2026-10-01",
        "2026-11-01 expired 20 days ago",
    ]
    assert rows[3][4] == "2027-01-31 71 days left"
    assert rows[1][5].startswith("names 1 passing test")


def test_each_entry_names_its_owner_and_links_the_issue(tables: list[Element]) -> None:
    first = tables[0].find("tr")[0]
    links = {link.text: link.attributes["href"] for link in first.find("a")}
    assert links == {
        "Lumen Photonic": "../d/lumen/index.html",
        "@lumen-maintainers": "https://github.com/lumen-maintainers",
        "issue": "https://github.com/example/torch-lumen/issues/12",
    }


def test_a_capability_that_works_although_declared_unsupported_stands_first(tables: list[Element]) -> None:
    rows = [[cell.text for cell in row.find("td")] for row in tables[1].find("tr")]
    assert [row[:2] for row in rows] == [
        ["works", "exclusions: TestFFT.test_fft_round_trip"],
        ["works", "operators: mul"],
        ["works in part", "streams_events One queue only."],
        ["not seen", "quantization The card has no integer matrix units."],
    ]


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
