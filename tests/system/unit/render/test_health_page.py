"""The watcher's page: every device's last report, how long it may be silent, and how long details are kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.rendering import Rendered
from unit.render.sample import NOW, Sample, registered

from ootci.model.device import Cadence
from ootci.stages.render.words import age


@pytest.fixture(scope="module")
def page(site: Path) -> Element:
    return read(site / "health" / "index.html")


def rows(page: Element) -> dict[str, list[str]]:
    return {name: cells for name, *cells in page.cells}


def test_a_weekly_device_may_be_silent_for_longer(sampled: Sample, rendered: Rendered) -> None:
    weekly = sampled.registry[1].device.model_copy(update={"cadence": Cadence.WEEKLY})
    shown = rendered(registry=(sampled.registry[0], registered(weekly)))
    row = rows(read(shown / "health" / "index.html"))["Borealis B2"]
    assert row[3:] == ["weekly", "8 days"]


def test_it_is_not_fresh_when_the_judge_says_so_and_names_the_control(
    rendered: Rendered, page: Element, sampled: Sample
) -> None:
    assert page.one("h2", id="nightly").text == "Up to date"
    assert page.one("section", aria_label="The reference device").one("h2").text == "Reference device: OK"
    late = {"stale_reason": "the newest nightly is 72 hours old", "judged_at": NOW + timedelta(hours=72)}
    later = read(rendered(registry=sampled.registry[1:], **late) / "health" / "index.html")
    assert later.one("h2", id="nightly").text == "Stale"
    assert later.one("section", aria_label="The reference device").one("h2").text == "No reference device"


def test_it_stands_before_the_first_nightly(rendered: Rendered) -> None:
    page = read(rendered(devices=(), plan_id=None, planned_at=None) / "health" / "index.html")
    assert page.one("h2", id="nightly").text == "No nightly yet"
    assert {row[1] for row in rows(page).values()} == {"never"}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5000, "0 m"),
        (29, "0 m"),
        (3599, "1 h"),
        (3660, "1 h 01 m"),
        (36 * 3600, "36 h"),
        (47.99 * 3600, "47 h 59 m"),
        (48 * 3600, "2 days"),
        (76 * 3600, "3.2 days"),
        (8 * 86400, "8 days"),
    ],
)
def test_ages(seconds: float, text: str) -> None:
    assert age(seconds) == text
