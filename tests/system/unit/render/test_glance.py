"""The top of a device's page: what can be known of it without scrolling."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.sample import Sample
from unit.render.sample_runs import CAPABILITIES

from ootci.stages.render import render


def told(site: Path, device: str) -> dict[str, Element]:
    """What the page says of a device, by the label."""
    top = read(site / "d" / device / "index.html").one("dl", class_="glance")
    return {row.one("dt").text: row.one("dd") for row in top.find("div") if row.find("dt")}


@pytest.mark.parametrize(
    ("device", "tests"),
    [
        ("borealis", "69 of 72 passed 2 new 0 known 0 flaky 0 fixed"),
        ("openreg", "124 of 124 passed 0 new 0 known 0 flaky 0 fixed"),
        ("dune", "0 new 0 known 0 flaky 0 fixed"),
    ],
)
def test_tests(site: Path, device: str, tests: str) -> None:
    assert told(site, device)["Tests"].text == tests


def test_what_is_new_is_one_click_away(site: Path) -> None:
    (new,) = told(site, "borealis")["Tests"].find("a")
    assert new.attributes["href"] == "#failures"


def test_every_capability_has_its_meter_and_what_does_not_work_says_so(site: Path) -> None:
    rows = read(site / "d" / "borealis" / "index.html").one("ul", class_="meters").find("li")
    meters = {row.one("bdi").text: row for row in rows}
    assert set(CAPABILITIES) < set(meters)
    assert meters["views"].text.endswith("3 failing 3 failed")
    assert meters["autograd"].text.endswith("works")
    shares = {name: int(row.one("rect", class_="full").attributes["width"]) for name, row in meters.items()}
    assert shares["views"] < shares["autograd"] == 100


def test_the_last_nights_in_a_row_and_in_words(site: Path) -> None:
    nights = told(site, "cobalt")["Last 14 nights"].one("div", class_="nights-of")
    hatched = nights.find("use", href="#c-hatch")
    assert len(nights.find("rect")) + len(nights.find("use")) - len(hatched) == 14
    assert len(hatched) == 1
    words = "1 night INFRA from 2026-11-12 (not counted: The runners had no network.)"
    assert words in nights.attributes["aria-label"]


def test_a_silent_device_has_its_nights_and_no_numbers(site: Path) -> None:
    assert list(told(site, "fjord")) == ["Last 14 nights"]
    assert list(told(site, "indigo")) == ["Last 2 nights"]


def test_the_badge_has_the_address_of_the_site_where_that_is_known(sampled: Sample, site: Path, tmp_path: Path) -> None:
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "site", "https://example.org/tests/")
    page = (tmp_path / "site" / "badge" / "index.html").read_text(encoding="utf-8")
    assert "[![opal on PyTorch](https://example.org/tests/badge/opal.svg)](https://example.org/tests/d/opal/)" in page
    assert "in place of" not in page
    assert "[![opal on PyTorch](SITE/badge/opal.svg)]" in (site / "badge" / "index.html").read_text(encoding="utf-8")
