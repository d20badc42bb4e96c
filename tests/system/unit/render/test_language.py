"""Pages use the field's words: phrases that readers had to decode do not come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from ootci.resources import dashboard_folder

PHRASES = (
    "not as expected:",
    "breaks predicted for",
    "broke alike",
    "cause not known",
    "came to something else",
    "came to the same",
    "failed so",
    "fails on the control",
    "failing alike",
    "its plugin</",
    "left out <",
    "nights that say nothing",
    "newly failing since",
    "not passing on an earlier",
    "not said",
    "over for ",
    "passed when run again",
    "silent ·",
    "taken in",
    "torch got",
    "torch wanted",
    "what fails, by",
    "when last heard",
    "without working infrastructure",
)
"""In lower case, as they would be in the HTML of a page."""

SOURCES = sorted(dashboard_folder().glob("templates/*.html"))


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_page_of_the_sample_site_says(phrase: str, lowered: dict[Path, str]) -> None:
    assert [path for path, text in lowered.items() if phrase in text] == []


@pytest.mark.parametrize("phrase", PHRASES)
def test_no_template_says(phrase: str) -> None:
    assert [path.name for path in SOURCES if phrase in path.read_text(encoding="utf-8").lower()] == []


@pytest.fixture(scope="module")
def lowered(site: Path) -> dict[Path, str]:
    """Every page of the sample site that is shown to readers."""
    found = {path: path.read_text(encoding="utf-8").lower() for path in site.rglob("*.html")}
    assert len(found) > 100
    return found
