"""The watcher's page: every device's last report, how long it may be silent, and how long details are kept."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.rendering import Rendered
from unit.render.sample import DEVICES, NOW, Sample, registered
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.history.gc import MEASURES_RUNS, TEXTS_NIGHTS
from ootci.model.device import Cadence
from ootci.stages.render.words import age


@pytest.fixture(scope="module")
def page(site: Path) -> Element:
    return read(site / "health" / "index.html")


def rows(page: Element) -> dict[str, list[str]]:
    found = page.one("table").one("tbody").find("tr")
    return {row.find("th")[0].text: [cell.text for cell in row.find("td")] for row in found}


def test_every_device_has_a_row_with_its_last_report(page: Element) -> None:
    found = rows(page)
    assert len(found) == len(DEVICES)
    fjord = found["Fjord 400"]
    assert fjord[0] == "NO DATA"
    assert fjord[1].endswith(" days"), "its last report is three nights old"
    assert found["OpenReg"][1].endswith(" m"), "it reported tonight"
    assert found["Indigo Q"][1] == "never"
    assert {row[3] for row in found.values()} == {"nightly"}
    assert {row[4] for row in found.values()} == {"36 h"}


def test_the_last_report_leads_to_its_page(site: Path) -> None:
    row = next(row for row in read(site / "health" / "index.html").find("tr") if "Fjord 400" in row.text)
    assert row.find("a")[1].attributes["href"] == f"../d/fjord/{plan_id(NIGHTS - 4)}/index.html"


def test_a_weekly_device_may_be_silent_for_longer(sampled: Sample, rendered: Rendered) -> None:
    weekly = sampled.registry[1].device.model_copy(update={"cadence": Cadence.WEEKLY})
    shown = rendered(registry=(sampled.registry[0], registered(weekly)))
    row = rows(read(shown / "health" / "index.html"))["Borealis B2"]
    assert row[3:] == ["weekly", "8 days"]


def test_the_newest_nightly_says_what_it_expected_and_got(page: Element, sampled: Sample) -> None:
    facts = {item.one("dt").text: item.one("dd").text for item in page.find("dl")[0].find("div")}
    newest = sampled.history.plans()[-1]
    expected = {run.device for run in newest.runs}
    assert facts["nightly"] == newest.id
    assert facts["started by"] == "schedule"
    silent = {item.name for item in DEVICES if item.nights[-1] in ".n"}
    assert facts["reported"] == f"{len(expected - silent)} of {len(expected)} expected devices"
    assert facts["left out"].startswith("halo (")


def test_it_says_what_the_history_s_collector_keeps(page: Element) -> None:
    kept = {item.one("dt").text: item.one("dd").text for item in page.find("dl")[1].find("div")}
    assert list(kept) == ["forever", f"{TEXTS_NIGHTS} nights", f"{MEASURES_RUNS} runs"]


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


@pytest.mark.parametrize("name", ["index.html", "d/borealis/index.html", "capabilities/index.html"])
def test_it_is_linked_from_the_foot_of_a_page(site: Path, name: str) -> None:
    links = [link.text for link in read(site / name).one("footer").find("a")]
    assert "Health" in links


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
