"""The nights of every test that has ever failed: a page for each file, and the list of all."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urljoin

import pytest
from unit.render.pages import content, follow, read
from unit.render.rendering import Rendered
from unit.render.sample import Sample, registered
from unit.render.sample_runs import NIGHTS, run
from unit.samples import plan

import ootci.stages.render.pages.lives as lives_module
from ootci.history.store import History
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.verdict import VerdictName
from ootci.stages.render.nights import CELL_WIDTH, night_grid
from ootci.stages.render.pages.lives import DEVICES, in_words, nights_of_test
from ootci.stages.render.pages.test_nights import LOOKS

FILES = "api/v1/lives.json"


def test_there_is_a_pattern_for_every_look_of_a_night_without_a_link(site: Path) -> None:
    patterns = read(site / "t/integration/test_views/index.html").find("pattern")
    looks = {look.look for look in LOOKS.values() if look.look != "flaky"}
    assert {item.attributes["id"] for item in patterns} == {f"n-{look}" for look in looks}


def test_a_known_failure_is_marked_and_a_test_that_always_passed_is_not_there(site: Path) -> None:
    page = read(site / "t" / "integration" / "test_serialization" / "index.html")
    assert "1 test of 10 failed at least once" in page.text
    (test,) = page.find("section", class_="life")
    (row,) = [item for item in test.find("li", class_="row") if item.find("a")[0].text == "Lumen Photonic"]
    assert test.attributes["aria-label"] == "test_transpose"
    assert row.find("span", class_="status")[-1].text == "known"
    assert [link.text for link in row.find("a")][-1] == "issue"


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


def test_a_link_to_a_test_without_a_row_leads_to_how_many_are_not_shown(
    sampled: Sample, rendered: Rendered, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lives_module, "ROWS", 1)
    site = rendered(sampled.history)
    pages = {path: read(path) for path in site.rglob("*.html")}
    assert follow(site, pages) > 1000
    last = pages[site / "t" / "integration" / "test_views" / "index.html"].one("main").find("p")[-1]
    assert "not shown here" in last.text
    assert last.find("span")
