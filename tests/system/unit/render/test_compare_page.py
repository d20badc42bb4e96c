"""The page that compares two runs, as it is before its script has run, and the links that lead there."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from unit.render.pages import Element, read
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.model.outcome import OutcomeName
from ootci.model.verdict import ChangeName
from ootci.stages.render.status import CHANGES


@pytest.fixture(scope="module")
def page(site: Path) -> Element:
    return read(site / "diff" / "index.html")


def test_it_has_a_place_for_every_kind_of_change_in_the_words_of_other_pages(page: Element) -> None:
    kinds = {item.attributes["data-kind"]: item.one("summary").text for item in page.one("main").find("details")}
    assert set(kinds) == {change.value for change in ChangeName} | {"other"}
    for change in ChangeName:
        assert kinds[change.value].startswith(f"{CHANGES[change].word} ")


def test_it_has_a_word_for_every_outcome(page: Element) -> None:
    words = {item.attributes["data-word"] for item in page.find("span") if "data-word" in item.attributes}
    assert {name.value for name in OutcomeName} | {"flaky", "known"} <= words


NEWEST, BEFORE = (f"borealis@{plan_id(NIGHTS - nights)}" for nights in (1, 2))


@pytest.mark.parametrize(
    ("path", "runs"),
    [
        ("d/borealis/index.html", {"b": [NEWEST]}),
        (f"d/borealis/{plan_id(NIGHTS - 1)}/index.html", {"a": [BEFORE], "b": [NEWEST]}),
        (f"d/borealis/{plan_id(NIGHTS - 1)}/attempt-1/index.html", {"a": [BEFORE], "b": [f"{NEWEST}.1"]}),
        (f"d/borealis/{plan_id(0)}/index.html", {"b": [f"borealis@{plan_id(0)}"]}),
    ],
)
def test_pages_of_devices_and_runs_lead_there_with_the_runs_that_they_are_about(
    site: Path, path: str, runs: dict[str, list[str]]
) -> None:
    links = [link for link in read(site / path).find("a") if link.text == "compare"]
    assert [parse_qs(urlsplit(link.attributes["href"]).query) for link in links] == [runs]
