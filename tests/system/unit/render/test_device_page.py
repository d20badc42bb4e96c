"""A device's page: the failing line is one click away, and silence looks like silence."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from unit.render.pages import Element, read
from unit.render.rendering import judged_pages
from unit.render.sample import ADDRESS, DEVICES
from unit.render.sample_clusters import CLUSTERS
from unit.render.sample_runs import NIGHTS, plan_id
from unit.samples import device as registered
from unit.samples import plan, run


def device(site: Path, name: str) -> Element:
    return read(site / "d" / name / "index.html")


def test_a_device_leads_to_those_before_and_after_it_on_the_front_page(site: Path) -> None:
    front = read(site / "index.html").one("main")
    listed = [item.attributes["id"] for item in front.find(class_="row") if "id" in item.attributes]
    assert len(listed) == len(DEVICES)
    for name, before, after in zip(listed, [None, *listed], [*listed[1:], None], strict=False):
        page = device(site, name)
        found = {rel: [link.attributes["href"] for link in page.find("a", rel=rel)] for rel in ("prev", "next")}
        assert found == {
            "prev": [f"../{before}/index.html"] if before else [],
            "next": [f"../{after}/index.html"] if after else [],
        }


def test_who_tests_pull_requests_sees_how_near_level_3_is(tmp_path: Path) -> None:
    names = ("asks", "never")
    nights = [(plan(number, names), *(run(number, name) for name in names)) for number in range(3)]
    registry = (registered("asks", pull_requests=True), registered("never"))
    site = judged_pages(tmp_path, *chain.from_iterable(nights), registry=registry)
    rows = device(site, "asks").one("section", aria_labelledby="readiness").cells
    assert [row[-1] for row in rows] == ["not met", *["not enough data"] * 5]
    assert rows[-1][1] == "3 of 3"
    assert not device(site, "never").find(id="readiness")


def test_a_build_that_broke_shows_the_end_of_its_log(site: Path) -> None:
    page = device(site, "dune")
    stages = page.one("section", aria_labelledby="stages")
    assert "ninja: build stopped: subcommand failed." in stages.find("pre")[0].text
    assert "not run" in page.text


def test_a_fallback_is_said_on_the_device_s_page_and_on_the_run_s(site: Path) -> None:
    for page in (device(site, "ember"), read(site / "d" / "ember" / plan_id(NIGHTS - 1) / "index.html")):
        assert "release 2.13.0+cpu instead of nightly" in page.one("p", class_="banner").text


def test_a_silent_device_leads_to_its_last_report(site: Path) -> None:
    panel = device(site, "fjord").one("section", class_="empty")
    assert "has no report from it" in panel.text
    assert panel.one("a").attributes["href"] == f"../../d/fjord/{plan_id(10)}/index.html"


def test_a_device_that_never_ran_and_a_paused_one_say_so(site: Path) -> None:
    assert "has never reported" in device(site, "indigo").one("section", class_="empty").text
    assert "The only machine is being moved until March; ootci nightly runs it there." in device(site, "halo").text


def test_every_night_is_listed_and_those_with_a_report_lead_to_it(site: Path) -> None:
    nights = device(site, "fjord").one("ol", class_="calendar").find("li")
    assert len(nights) == NIGHTS
    assert [bool(night.find("a")) for night in nights] == [False] * 3 + [True] * 11


def test_an_earlier_attempt_stays_readable(site: Path) -> None:
    page = device(site, "borealis")
    link = next(item for item in page.find("a") if item.text == "attempt 1")
    earlier = read(site / "d" / "borealis" / link.attributes["href"])
    assert "replaced by a later one" in earlier.text
    assert "0 cards found" in earlier.text


def test_counts_and_outcomes_that_are_not_passes_are_listed(site: Path) -> None:
    page = device(site, "marble")
    not_run = next(item for item in page.find("details") if item.one("summary").text == "not run 8")
    assert len(not_run.find("li")) == 8
    integration = next(row for row in page.find("tr") if row.find("th")[0].text == "integration")
    assert "truncated" in integration.text


def test_operators_that_ran_on_the_cpu_are_named_the_most_frequent_first(site: Path) -> None:
    said = "5 operators called: 2 native, 3 fell back to the CPU"
    (section,) = (item for item in device(site, "openreg").find("details") if item.one("summary").text == said)
    assert [item.text for item in section.find("li")] == [
        "aten::linalg_qr 12 times",
        "aten::erfinv 3 times",
        "aten::mm 2 times, 64 times on the device",
    ]
    assert "fell back to the CPU" not in device(site, "cobalt").text


def test_the_page_of_a_run_has_the_list_of_its_own_night(site: Path) -> None:
    page = read(site / "d" / "lumen" / plan_id(NIGHTS - 2) / "index.html")
    assert "matches no test" in page.one("section", aria_labelledby="known-failures").text


def facets(site: Path, name: str) -> dict[str, Element]:
    """The card of a broken device, by heading."""
    box = device(site, name).one("div", class_="facets")
    return {part.one("h3").text: part for part in box.find("div") if len(part.find("h3")) == 1}


def test_the_card_of_a_broken_stage_leads_to_its_cluster_and_to_the_vendor(site: Path) -> None:
    card = facets(site, "dune")
    assert card["What broke"].one("p", class_="big").text == "Stage: build"
    assert card["What broke"].one("a").attributes["href"] == f"../../c/{CLUSTERS[-1].signature.id}/index.html"
    assert card["Reproduce"].one("a").attributes["href"].startswith("https://github.com/example/torch-dune/issues/new?")


def told(site: Path, device: str) -> dict[str, Element]:
    """What the page says of a device, by the label."""
    top = read(site / "d" / device / "index.html").one("dl", class_="glance")
    return {row.one("dt").text: row.one("dd") for row in top.find("div") if row.find("dt")}


def test_a_run_without_an_executed_test_has_no_line_of_tests(site: Path) -> None:
    assert "Tests" not in told(site, "dune")


def test_the_last_nights_in_a_row_and_in_words(site: Path) -> None:
    nights = told(site, "cobalt")["Last 14 nights"].one("div", class_="nights-of")
    hatched = nights.find("use", href="#c-hatch")
    assert len(nights.find("rect")) + len(nights.find("use")) - len(hatched) == 14
    assert len(hatched) == 1
    words = "1 night INFRA from 2026-11-12 (not counted: The runners had no network.)"
    assert words in nights.attributes["aria-label"]


def test_the_badge_has_the_address_of_the_site_where_that_is_known(site: Path, addressed_site: Path) -> None:
    page = (addressed_site / "badge" / "index.html").read_text(encoding="utf-8")
    assert f"[![opal on PyTorch]({ADDRESS}badge/opal.svg)]({ADDRESS}d/opal/)" in page
    assert "in place of" not in page
    assert "[![opal on PyTorch](SITE/badge/opal.svg)]" in (site / "badge" / "index.html").read_text(encoding="utf-8")
