"""What a run's page says about the run before, and where its report and log are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.sample import Sample
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.history.store import History
from ootci.stages.render import render, run_page


def page(site: Path, device: str, number: int, attempt: str = "") -> Element:
    return read(site / "d" / device / plan_id(number) / attempt / "index.html")


def changes(shown: Element) -> Element | None:
    return next((section for section in shown.find("section") if section.find(id="changes")), None)


def ids(section: Element) -> list[str]:
    return [item.find("code")[0].text for item in section.find("li") if item.find("code")]


def run_before(section: Element) -> str:
    return section.find("a")[0].attributes["href"]


def test_a_regressed_run_names_what_differs_and_leads_to_the_run_before(site: Path) -> None:
    last = NIGHTS - 1
    shown = page(site, "borealis", last)
    section = changes(shown)
    assert section is not None
    assert run_before(section) == f"../../../d/borealis/{plan_id(last - 1)}/index.html"
    assert "regression 2" in section.text
    assert "still failing" not in section.text
    assert "Since the run before: 2 regression" in shown.one("main").text


def test_it_says_the_same_as_the_devices_page(site: Path) -> None:
    """Where the judge found no more than goes on failing."""
    for device in ("borealis", "ember", "opal", "jasper"):
        run = changes(page(site, device, NIGHTS - 1))
        judged = changes(read(site / "d" / device / "index.html"))
        assert run is not None
        still = {
            item
            for group in (judged.find("details") if judged else [])
            if "still failing" in group.one("summary").text
            for item in ids(group)
        }
        assert set(ids(run)) == set(ids(judged) if judged else []) - still, device


def test_failures_that_are_new_come_first_and_say_so(site: Path) -> None:
    rows = page(site, "borealis", NIGHTS - 1).find("details", class_="failure")
    assert ["regression" in row.one("summary").text for row in rows] == [True, True, False]


@pytest.mark.parametrize("number", [NIGHTS - 3, NIGHTS - 2, NIGHTS - 1])
def test_where_nothing_was_tested_nothing_is_compared_and_the_last_whole_report_is_named(
    site: Path, number: int
) -> None:
    section = changes(page(site, "dune", number))
    assert section is not None
    assert "No test reported, so that none can be compared." in section.text
    assert not ids(section)
    assert run_before(section) == f"../../../d/dune/{plan_id(NIGHTS - 4)}/index.html"


def test_a_nightly_after_a_broken_one_is_compared_with_the_last_whole_report(site: Path) -> None:
    """The device had no working infrastructure on the fifth night."""
    section = changes(page(site, "cobalt", 5))
    assert section is not None
    assert run_before(section) == f"../../../d/cobalt/{plan_id(3)}/index.html"
    assert "No test newly fails or passes, and none appeared or disappeared." in section.text


def test_an_attempt_that_does_not_count_is_compared_with_the_same_run(site: Path) -> None:
    section = changes(page(site, "borealis", NIGHTS - 1, "attempt-1"))
    assert section is not None
    assert run_before(section) == f"../../../../d/borealis/{plan_id(NIGHTS - 2)}/index.html"


def test_the_first_report_is_compared_with_nothing(site: Path) -> None:
    assert changes(page(site, "cobalt", 0)) is None


def test_report_and_log_are_among_the_workflow_runs_artifacts(site: Path) -> None:
    aside = page(site, "dune", NIGHTS - 1).one("aside")
    named = {item.text: item.attributes["href"] for item in aside.find("a")}
    run = "https://github.com/example/pytorch-integration-tests/actions/runs/1234567890#artifacts"
    assert named["report.xml"] == named["logs/build.log"] == run


def test_the_page_of_an_old_run_counts_what_it_named_and_leads_to_the_file_that_has_all(
    sampled: Sample, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_page, "NAMED_NIGHTS", 3)
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "site")
    for number in (0, NIGHTS - 5, NIGHTS - 4, NIGHTS - 1):
        before = page(site, "cobalt", number).find("section", aria_labelledby="others")[0]
        after = page(tmp_path / "site", "cobalt", number).find("section", aria_labelledby="others")[0]
        assert len(before.find("code")) == 3
        if number < NIGHTS - 4:
            assert not after.find("code")
            assert "unsupported 3 3 more tests not named here" in after.text
            file = f"api/v1/runs/cobalt/{plan_id(number)}.1.json"
            assert after.one("a").attributes["href"] == f"../../../{file}"
            assert (tmp_path / "site" / file).is_file()
        else:
            assert after.text == before.text


@pytest.mark.parametrize("is_kept", [True, False])
def test_the_page_of_an_old_run_shows_what_is_kept_and_counts_what_works(
    sampled: Sample, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_kept: bool
) -> None:
    monkeypatch.setattr(run_page, "NAMED_NIGHTS", -1)
    shutil.copytree(sampled.history.folder, tmp_path / "history")
    if not is_kept:
        shutil.rmtree(tmp_path / "history" / "details")
    render(sampled.registry, History(tmp_path / "history"), sampled.verdicts, tmp_path / "site")
    before, after = page(site, "borealis", NIGHTS - 1), page(tmp_path / "site", "borealis", NIGHTS - 1)
    failing = [row.find("code")[0].text for row in before.find("details", class_="failure")]
    assert len(failing) == 3
    section = after.find("section", aria_labelledby="failures")[0]
    named = [item.find("code")[0].text for item in section.find("details" if is_kept else "li")]
    assert named == failing if is_kept else sorted(named) == sorted(failing)
    assert ("no text of these is kept" in section.text) is not is_kept
    assert len(section.find("pre", class_="command")) == (3 if is_kept else 0)
    states = [row.text for row in before.find("section", aria_labelledby="capabilities")[0].find("tr")[1:]]
    works = [row for row in states if " works " in row]
    shown = after.find("section", aria_labelledby="capabilities")[0]
    assert [row.text for row in shown.find("tr")[1:]] == [row for row in states if row not in works]
    assert works
    assert f"{len(works)} capabilit" in shown.text


def test_a_page_carries_the_symbols_that_it_shows_and_no_others(site: Path) -> None:
    for path in (site / "index.html", site / "diff" / "index.html", site / "d" / "borealis" / "index.html"):
        shown = {use.attributes["href"] for use in read(path).find("use")}
        carried = {f"#{symbol.attributes['id']}" for symbol in read(path).find("symbol")}
        assert carried == shown, path
