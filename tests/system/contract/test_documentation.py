"""The documentation site: it builds without a warning, its links lead somewhere, nothing comes from outside."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unit.render.pages import Element, check_markup, follow, read
from unit.render.sample import Sample

from ootci.model.schema import schemas
from ootci.stages.render import render
from ootci.stages.render.pages.api import api_schemas


@pytest.fixture(scope="module")
def pages(documentation: Path) -> dict[Path, Element]:
    return {path: read(path) for path in sorted(documentation.rglob("*.html"))}


def test_every_link_leads_to_a_file_and_every_fragment_to_an_element(
    documentation: Path, pages: dict[Path, Element]
) -> None:
    assert follow(documentation, pages) > 3000


def test_every_link_of_the_dashboard_leads_to_a_page(sampled: Sample, documentation: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    render(sampled.registry, sampled.history, sampled.verdicts, site, docs=documentation)
    links = {
        (path.parent / link).resolve()
        for path in site.rglob("*.html")
        if "docs" not in path.relative_to(site).parts
        for element in read(path).find("a")
        if (link := element.attributes["href"]).lstrip("./").startswith("docs/")
    }
    assert len(links) > 5
    assert [link for link in sorted(links) if not link.is_file()] == []


def test_the_markup_is_sound_and_pages_forbid_what_they_do_not_use(pages: dict[Path, Element]) -> None:
    check_markup(pages)
    for path, page in pages.items():
        policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
        assert "script-src 'self'; " in policy, path
        assert ("connect-src" in policy) == (path.name == "search.html"), path
        # The dashboard's style, which it shares, gives a picture there no size.
        assert not page.one("header").find("svg"), path


def test_styles_and_scripts_fetch_nothing_from_elsewhere(documentation: Path) -> None:
    for path in documentation.rglob("*.css"):
        found = re.findall(r"url\(.*?\)|@import", path.read_text(encoding="utf-8"))
        assert found == (['url("inter.woff2")', 'url("jetbrains-mono.woff2")'] if path.name == "fonts.css" else []), (
            path
        )
    scripts = [path for path in documentation.rglob("*.js") if path.name != "lunr.js"]
    assert {path.name for path in scripts} == {"base.js", "code.js", "main.js", "theme.js", "worker.js"}
    for path in scripts:
        without_comments = re.sub(r"(?m)(^|\s)//.*$", "", path.read_text(encoding="utf-8"))
        assert not re.search(r"https?:|['\"]//", without_comments), path


def test_every_page_is_written(pages: dict[Path, Element], documentation: Path) -> None:
    """Nothing in the list of pages is a stub."""
    for link in pages[documentation / "index.html"].one("nav", class_="contents").find("a"):
        text = pages[documentation / link.attributes["href"]].one("main").text
        assert len(text) > 600, link.attributes["href"]


def test_the_schemas_are_beside_their_page(documentation: Path) -> None:
    for folder, texts in (("", schemas()), ("api", api_schemas())):
        published = {
            path.read_text(encoding="utf-8")
            for path in (documentation / "reference/schemas" / folder).glob("*")
            if path.is_file()
        }
        assert published == set(texts.values())
