"""What a run's page says about the run before, and where its report and log are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unit.render.pages import Element, content, read
from unit.render.rendering import Rendered
from unit.render.sample import Sample
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.model.verdict import AS_EXPECTED, BROKEN
from ootci.stages.render import render
from ootci.stages.render.pages import runs
from ootci.stages.render.status import VERDICTS


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
    for device in ("borealis", "opal", "jasper"):
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


def test_a_torch_that_stood_in_for_the_one_wanted_is_compared_with_nothing(site: Path) -> None:
    assert changes(page(site, "ember", NIGHTS - 1)) is None
    assert changes(page(site, "ember", NIGHTS - 2)) is not None


def test_failures_that_are_new_come_first_and_say_so(site: Path) -> None:
    rows = page(site, "borealis", NIGHTS - 1).find("details", class_="failure")
    assert ["regression" in row.one("summary").text for row in rows] == [True, True, False]


@pytest.mark.parametrize("number", [NIGHTS - 3, NIGHTS - 2, NIGHTS - 1])
def test_where_nothing_was_tested_nothing_is_compared_and_the_last_whole_report_is_named(
    site: Path, number: int
) -> None:
    section = changes(page(site, "dune", number))
    assert section is not None
    assert "No tests to compare." in section.text
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


def listed(site: Path, device: str) -> dict[str, Element]:
    """The rows of the runs that have no page, by their anchor."""
    rows = read(site / "d" / device / "runs" / "index.html").one("tbody").find("tr")
    return {row.attributes["id"]: row for row in rows if "id" in row.attributes}


def test_a_run_that_is_old_is_a_row_in_the_list_of_the_devices_runs(
    sampled: Sample, rendered: Rendered, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RECENT_NIGHTS", 3)
    monkeypatch.setattr(runs, "PAGE_NIGHTS", 3)
    shown = rendered(sampled.history)
    rows = listed(shown, "cobalt")
    for number in (0, NIGHTS - 5, NIGHTS - 4, NIGHTS - 1):
        path = Path("d/cobalt") / plan_id(number) / "index.html"
        if number >= NIGHTS - 4:
            assert read(shown / path).one("main").text == read(site / path).one("main").text
            assert plan_id(number) not in rows
            continue
        assert not (shown / path).exists()
        row = rows[plan_id(number)]
        file = f"api/v1/runs/cobalt/{plan_id(number)}.1.json"
        targets = [link.attributes["href"] for link in row.find("a")]
        assert targets == [f"../../../{file}", f"../../../diff/index.html?b=cobalt@{plan_id(number)}"]
        assert (shown / file).read_bytes() == (site / file).read_bytes()
        counts = content(site / file)["counts"]
        assert f"{counts.get('passed', 0)} of " in row.text
    entries = content(shown / "api/v1/runs/cobalt.json")["runs"]
    anchors = [entry["page"].partition("#")[2] for entry in entries]
    assert [anchor for anchor in anchors if anchor] == list(reversed(rows))


def test_an_older_run_shows_its_new_failures_and_names_the_others_and_one_as_expected_is_a_row(
    sampled: Sample, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RECENT_NIGHTS", 1)
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "site")
    shown, named = set(), set()
    for verdict in sampled.verdicts.devices:
        name, reported = verdict.device, [night for night in verdict.history if night.run_id]
        for night in reported[:-1]:
            if night in verdict.history[-2:]:
                continue
            path = Path("d") / name / night.plan_id / "index.html"
            failures: list[str] = []
            if night.verdict in AS_EXPECTED:
                assert not (tmp_path / "site" / path).exists()
                after = listed(tmp_path / "site", name)[night.plan_id]
                assert VERDICTS[night.verdict].word in after.text
            else:
                before, after = read(site / path).one("main"), read(tmp_path / "site" / path).one("main")
                failures = [row.text for row in after.find("details", class_="failure")]
                told = [(_is_still_failing(row), _said(row)) for row in before.find("details", class_="failure")]
                assert [_said(row) for row in after.find("details", class_="failure")] == [
                    said for still_failing, said in told if not still_failing
                ]
                others = {said[0].split()[0] for still_failing, said in told if still_failing}
                assert others <= set(ids(after))
                named |= others
                assert not after.find(id="capabilities") + after.find(id="others") + after.find(id="findings")
            file = re.compile(rf"../../../api/v1/runs/{name}/{night.plan_id}\.[0-9]+\.json")
            assert any(file.fullmatch(link.attributes["href"]) for link in after.find("a"))
            shown.add((night.verdict in AS_EXPECTED, bool(failures)))
    assert {(True, False), (False, True)} <= shown
    assert named


def test_the_page_of_a_broken_night_has_its_reason_and_dates_and_the_command(sampled: Sample, site: Path) -> None:
    broken = 0
    for verdict in sampled.verdicts.devices:
        for night in verdict.history[:-1]:
            if night.run_id is None or night.fallback or night.verdict in AS_EXPECTED:
                continue
            main = read(site / "d" / verdict.device / night.plan_id / "index.html").one("main")
            assert night.reason is not None
            assert night.reason[1:] in main.text
            if night.verdict in BROKEN:
                card = main.find("section", class_="card")[0]
                assert "First bad" in card.text
                assert "PyTorch:" in card.text
                assert f"DEVICE={verdict.device}" in card.find("pre")[0].text
                broken += 1
    assert broken


def _is_still_failing(row: Element) -> bool:
    return "still failing" in row.one("summary").text


def _said(row: Element) -> list[str]:
    """What the row of a failing test says of it, without the command that runs it again."""
    return [
        row.one("summary").text,
        *(text.text for text in row.find("pre") if "command" not in text.attributes.get("class", "")),
    ]


def test_the_newest_report_of_a_device_that_fell_silent_is_shown_however_old_it_is(
    sampled: Sample, rendered: Rendered, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RECENT_NIGHTS", -1)
    monkeypatch.setattr(runs, "PAGE_NIGHTS", -1)
    shown = rendered(sampled.history)
    for folder in ("latest", plan_id(NIGHTS - 1)):
        path = Path("d/cobalt") / folder / "index.html"
        assert read(shown / path).one("main").text == read(site / path).one("main").text


def test_a_page_carries_the_symbols_that_it_shows_and_no_others(site: Path) -> None:
    for path in (site / "index.html", site / "diff" / "index.html", site / "d" / "borealis" / "index.html"):
        shown = {use.attributes["href"] for use in read(path).find("use")}
        sprite = next(svg for svg in read(path).find("svg") if svg.attributes.get("class") == "sprite")
        carried = {f"#{item.attributes['id']}" for item in sprite.walk() if "id" in item.attributes}
        assert carried == shown, path
