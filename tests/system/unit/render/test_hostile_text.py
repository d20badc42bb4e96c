"""Hostile text in every field: it is shown, and it is nothing but text."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.hostile import EVIL_NAME
from unit.render.pages import Element, check_markup, read
from unit.render.sample import Sample

from ootci.stages.render import step_summary

LIMIT = 512 * 1024
SCRIPTS = (
    "age.js",
    "search.js",
    "theme.js",
    "copy.js",
    "grid.js",
    "difference.js",
    "diff.js",
    "filter.js",
    "sort.js",
    "sortable.min.js",
)


@pytest.fixture(scope="module")
def attacked(hostile_site: Path) -> dict[str, Element]:
    pages = [
        hostile_site / "index.html",
        hostile_site / "capabilities" / "index.html",
        *sorted((hostile_site / "c").rglob("*.html")),
        hostile_site / "health" / "index.html",
        *sorted((hostile_site / "n").rglob("*.html")),
        hostile_site / "known" / "index.html",
        hostile_site / "flaky" / "index.html",
        *sorted((hostile_site / "t").rglob("*.html")),
        hostile_site / "trends" / "index.html",
        hostile_site / "operators" / "index.html",
        hostile_site / "operators" / "borealis" / "index.html",
        hostile_site / "devices" / "index.html",
        hostile_site / "diff" / "index.html",
        *sorted((hostile_site / "d" / "borealis").rglob("*.html")),
    ]
    return {path.relative_to(hostile_site).as_posix(): read(path) for path in pages}


def test_the_attack_reaches_the_pages(attacked: dict[str, Element]) -> None:
    """Without this, the other tests could pass on pages that show nothing."""
    for name in (
        "index.html",
        "d/borealis/index.html",
        "c/index.html",
        f"c/{EVIL_NAME.id}/index.html",
        "flaky/index.html",
        "t/index.html",
        "operators/borealis/index.html",
    ):
        assert "<script>document.title='ran'</script>" in attacked[name].text
        assert "{{ 7 * 7 }}" in attacked[name].text


def test_no_element_and_no_attribute_is_born_of_it(attacked: dict[str, Element]) -> None:
    for name, page in attacked.items():
        for element in page.walk():
            assert element.tag not in ("iframe", "object", "style"), name
            if element.tag == "img":
                assert element.attributes["src"].rpartition("../")[2] == "static/icon.svg", name
            if element.tag == "script":
                assert element.attributes["src"].rpartition("static/")[2] in SCRIPTS, name
    check_markup({Path(name): page for name, page in attacked.items()})


def test_nothing_invisible_or_reordering_is_left(attacked: dict[str, Element], hostile_site: Path) -> None:
    for name in attacked:
        text = (hostile_site / name).read_text(encoding="utf-8")
        for sign in "\x1b\x00\x07\u202e\u200b":
            assert sign not in text, name
        if name in ("index.html", "d/borealis/index.html"):
            assert "&lt;U+202E&gt;" in text, name


def test_sizes_stay_bounded_and_the_page_says_what_was_cut(attacked: dict[str, Element], hostile_site: Path) -> None:
    for name, page in attacked.items():
        assert (hostile_site / name).stat().st_size < LIMIT, name
        if name == "d/borealis/index.html":
            assert page.find("span", class_="cut")
            assert "more characters)" in page.text


def test_the_step_summary_is_harmless_too(hostile: Sample) -> None:
    summary = step_summary(hostile.verdicts, hostile.registry)
    assert "<" not in summary.replace("&#60;", "")
    assert "\u202e" not in summary
    assert len(summary.encode()) < 64 * 1024
