"""The nights of every test that has ever failed: a page for each file, and the list of all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from unit.render.pages import Element, read
from unit.render.rendering import Rendered
from unit.render.sample import Sample, registered
from unit.render.sample_clusters import ALIKE, COMMITS, COMMITS_URL
from unit.render.sample_clusters import VIEWS as TESTS
from unit.render.sample_runs import NIGHTS, plan_id, run
from unit.samples import plan

from ootci.history.store import History
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.verdict import VerdictName
from ootci.stages.render.nights import CELL_WIDTH, night_grid
from ootci.stages.render.pages.lives import DEVICES, in_words, nights_of_test
from ootci.stages.render.pages.test_nights import LOOKS

VIEWS = Path("t/integration/test_views/index.html")
FILES = "api/v1/lives.json"


@pytest.fixture
def views(site: Path) -> Element:
    return read(site / VIEWS)


def life(page: Element, name: str) -> Element:
    (found,) = [section for section in page.find("section", class_="life") if section.attributes["aria-label"] == name]
    return found


def row(page: Element, test: str, device: str) -> Element:
    (found,) = [item for item in life(page, test).find("li") if item.find("a")[0].text == device]
    return found


def test_each_device_has_its_nights_in_a_picture_and_in_words(views: Element) -> None:
    borealis = row(views, "test_transpose", "Borealis B2")
    assert "failed on 1 of 14 nights · run" in borealis.text
    assert "failing since 2026-11-21, last passed 2026-11-20" in borealis.text
    row_of = borealis.one("div", class_="nights-of")
    assert row_of.attributes["aria-label"] == "failed on 1 of 14 nights"
    (night,) = row_of.find("a")
    assert night.one("title").text == "Sat 21 Nov 2026: began to fail"
    assert night.attributes["href"] == f"../../../d/borealis/{plan_id(NIGHTS - 1)}/index.html"
    tiles = row_of.find("rect")
    assert {tile.attributes["fill"] for tile in tiles} == {"url(#n-ok)"}
    assert sum(int(tile.attributes["width"]) for tile in tiles) == (NIGHTS - 1) * CELL_WIDTH


def test_every_night_has_a_link_and_a_tooltip_behind_the_rows(views: Element) -> None:
    columns = views.one("svg", class_="night-links").find("a")
    assert [column.attributes["href"] for column in columns] == [
        f"../../../n/{plan_id(number)}/index.html" for number in range(NIGHTS)
    ]
    assert columns[-1].one("title").text.startswith("Sat 21 Nov 2026 · torch 2.15.0.dev20261120")
    drawn = {tile.attributes["fill"] for tile in views.find("rect") if "fill" in tile.attributes}
    patterns = {f"url(#{item.attributes['id']})" for item in views.find("pattern")}
    assert drawn <= patterns
    assert patterns == {f"url(#n-{look.look})" for look in LOOKS.values() if look.look != "flaky"}


def test_it_leads_to_the_run_the_commits_and_what_fails_alike(views: Element) -> None:
    said = row(views, "test_transpose", "Borealis B2").one("span", class_="said")
    links = [link.attributes["href"] for link in said.find("a")]
    assert links == [
        COMMITS_URL,
        f"../../../c/{ALIKE.id}/index.html",
        f"../../../d/borealis/{plan_id(NIGHTS - 1)}/index.html#failures",
    ]


def test_what_is_flaky_and_what_is_known_is_marked(site: Path, views: Element) -> None:
    assert row(views, "test_slice_writes_through", "Nimbus").find("a", href="../../../flaky/index.html")
    assert not row(views, "test_slice_writes_through", "Borealis B2").find("a", href="../../../flaky/index.html")
    page = read(site / "t" / "integration" / "test_serialization" / "index.html")
    known = row(page, "test_transpose", "Lumen Photonic")
    assert known.find("span", class_="status")[-1].text == "known"
    assert [link.text for link in known.find("a")][-1] == "issue"


def test_a_test_that_always_passed_is_not_there(site: Path) -> None:
    page = read(site / "t" / "integration" / "test_serialization" / "index.html")
    assert [section.attributes["aria-label"] for section in page.find("section", class_="life")] == ["test_transpose"]
    assert "1 test of 10 failed at least once" in page.text


def test_other_devices_that_pass_it_are_counted(views: Element) -> None:
    assert "passes on" in life(views, "test_slice_writes_through").one("h3").text


def test_the_list_counts_tests_and_names_the_devices_on_which_they_fail(site: Path) -> None:
    rows = {item.find("th")[0].text: item for item in read(site / "t" / "index.html").one("tbody").find("tr")}
    views = rows["integration/test_views.py"]
    assert [cell.text for cell in views.find("td", class_="n")] == ["10", "10", "3"]
    assert views.find("td")[-1].text.startswith("Borealis B2 3, ")
    assert views.find("a")[0].attributes["href"] == "../t/integration/test_views/index.html"
    never = rows["integration/test_autograd.py"]
    assert [cell.text for cell in never.find("td")] == ["10", "0", "0", "\N{EN DASH}"]
    assert not never.find("a")
    failing = [int(item.find("td")[2].text) for item in rows.values()]
    assert failing == sorted(failing, reverse=True)


@pytest.mark.parametrize(
    "name",
    [
        "d/borealis/index.html",
        f"d/borealis/{plan_id(NIGHTS - 1)}/index.html",
        f"c/{ALIKE.id}/index.html",
        "flaky/index.html",
    ],
)
def test_failures_lead_to_their_nights(site: Path, name: str) -> None:
    links = [link.attributes["href"] for link in read(site / name).find("a")]
    found = [link for link in links if "t/integration/test_views/index.html#t-" in link]
    assert found
    for link in found:
        target, _, fragment = link.partition("#")
        assert read((site / name).parent / target).one(id=fragment)


def test_a_known_failure_leads_to_the_file_of_its_tests_where_it_has_a_page(site: Path) -> None:
    rows = read(site / "known" / "index.html").find("tbody")[0].find("tr")
    links = {
        row.find("code")[0].text: [link.attributes["href"] for link in row.find("td")[1].find("a")] for row in rows
    }
    assert links["integration/test_views.py::test_c*"] == ["../t/integration/test_views/index.html"]
    assert links["integration/test_optimizers.py::*"] == []


def test_without_a_history_there_is_a_list_that_says_so(rendered: Rendered) -> None:
    shown = rendered()
    assert [path.name for path in (shown / "t").iterdir()] == ["index.html"]
    assert "No test has reported yet." in read(shown / "t" / "index.html").text


@pytest.mark.parametrize(
    ("nights", "words"),
    [
        ("ppf._f", "failed on 2 of 4 nights"),
        ("apf", "failed on 2 of 3 nights, passed again on 1 of them"),
        ("xxX", "failed as expected on 2 of 3 nights, passed against expectation on 1 of 3 nights"),
        ("np", "collected and not run on 1 night"),
    ],
)
def test_nights_in_words(nights: str, words: str) -> None:
    assert in_words(nights) == words


def test_a_row_draws_every_outcome_and_links_its_changes_and_flakes() -> None:
    plans = [plan(number) for number in range(12)]
    pages = {item.id: f"d/one/{item.id}/index.html" for item in plans}
    grid = night_grid((item.id, item.created_at) for item in plans)
    drawn = nights_of_test("fffpaappxxx_", plans, grid, pages)
    width = {cell.x: CELL_WIDTH for cell in drawn.cells} | {tile.x: tile.width for tile in drawn.tiles}
    assert sum(width.values()) == 12 * CELL_WIDTH
    assert [cell.href for cell in drawn.cells] == [pages[plans[number].id] for number in (0, 2, 4, 5, 8, 10)]


def test_tests_and_devices_without_end_are_cut_and_counted(sampled: Sample, rendered: Rendered, tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    newest = sampled.history.plans()[-1]
    registry, runs = [], []
    honest = run("cobalt", NIGHTS - 1, VerdictName.REGRESSED)
    outcomes = tuple(
        Outcome(id=f"ops/test_all.py::test_{number:05d}[float32]", suite="ops", outcome=OutcomeName.FAILED)
        for number in range(1_000)
    )
    for number in range(DEVICES + 5):
        item = sampled.registry[2].device.model_copy(update={"name": f"device{number}"})
        registry.append(registered(item))
        runs.append(newest.runs[0].model_copy(update={"device": item.name, "run_id": f"{newest.id}-{item.name}"}))
    history.append_plan(newest.model_copy(update={"runs": tuple(runs)}))
    for item in runs:
        history.append_run(honest.model_copy(update={"id": item.run_id, "device": item.device, "outcomes": outcomes}))
    path = rendered(history, registry) / "t" / "ops" / "test_all" / "index.html"
    page = read(path)
    (shown,) = page.find("section", class_="life")
    same = shown.one("details").find("li")
    assert len(shown.find("li", class_="row")) == DEVICES
    assert shown.one("summary").text == f"{len(same)} more tests with the same nights"
    assert "on 5 more devices" in shown.text
    assert f"{1_000 - 1 - len(same):,} more tests of 1,000 not shown here" in page.text
    assert path.stat().st_size < 300 * 1024


def content(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_list_leads_to_every_file_and_every_file_to_its_page(site: Path) -> None:
    listed = content(site / FILES)["files"]
    assert len(listed) == len(list((site / "t").glob("*/*/index.html"))) > 2
    for item in listed:
        assert 0 < item["ever"] <= item["tests"]
        page = read(site / urljoin(FILES, item["page"]))
        address = urljoin(FILES, item["path"])
        life = content(site / address)
        assert (life["suite"], life["file"]) == (item["suite"], item["file"])
        assert len(life["tests"]) + life["more"] == item["ever"]
        for test in life["tests"]:
            path, _, anchor = urljoin(address, test["page"]).partition("#")
            assert path == urljoin(FILES, item["page"])
            assert page.find("section", id=anchor) or page.find("li", id=anchor)


def test_a_test_has_its_nights_and_what_the_judge_knows_of_it(site: Path) -> None:
    life = content(site / "api/v1/lives/integration/test_views.json")
    assert life["nights"] == [plan_id(number) for number in range(NIGHTS)]
    transpose = next(test for test in life["tests"] if test["id"] == TESTS[1])
    borealis = next(item for item in transpose["devices"] if item["device"] == "borealis")
    assert borealis["nights"] == "p" * (NIGHTS - 1) + "f"
    assert borealis["last"] == plan_id(NIGHTS - 1)
    assert borealis["streak"]["commits"] == COMMITS
    assert content(site / "api/v1/clusters.json")["clusters"][0]["signature"]["id"] == borealis["signature"]
    assert (borealis["flaky"], borealis["known"]) == (False, None)
    first = next(test for test in life["tests"] if test["id"] == TESTS[0])
    assert [item["device"] for item in first["devices"] if item["flaky"]] == ["nimbus", "opal"]


def test_a_known_failure_says_so(site: Path) -> None:
    (test,) = content(site / "api/v1/lives/integration/test_serialization.json")["tests"]
    lumen = next(item for item in test["devices"] if item["device"] == "lumen")
    assert lumen["known"] == {"state": "covers", "issue": "https://github.com/example/torch-lumen/issues/31"}
