"""Every page of the site at once: links lead somewhere, nothing comes from outside, the markup is sound."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from unit.render.pages import Element, addresses, check_markup, follow, read
from unit.render.sample import NOW, Sample

from ootci.stages.render import render
from ootci.stages.render.run_pages import run_pages


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Element]:
    return {path: read(path) for path in sorted(site.rglob("*.html"))}


def test_every_relative_link_leads_to_a_file_and_every_fragment_to_an_element(
    site: Path, pages: dict[Path, Element]
) -> None:
    assert follow(site, pages) > 1000


def test_the_markup_is_sound_and_nothing_is_fetched_from_elsewhere(pages: dict[Path, Element]) -> None:
    check_markup(pages)


def test_code_in_a_sentence_looks_like_code_and_no_mark_is_shown(pages: dict[Path, Element]) -> None:
    for path, page in pages.items():
        marked = [
            child
            for element in page.walk()
            if element.tag not in ("code", "pre", "script", "style", "title")
            for child in element.children
            if isinstance(child, str) and "`" in child
        ]
        assert not marked, path


def test_only_the_page_for_unknown_addresses_has_a_script_and_a_style_in_itself(
    pages: dict[Path, Element], site: Path
) -> None:
    for path, page in pages.items():
        for script in page.find("script"):
            assert bool(script.text) == (path.name == "404.html"), path
            if "src" not in script.attributes:
                continue
            assert (path.parent / script.attributes["src"]).resolve().parent == site / "static", path
        assert not page.find("iframe"), path
        assert bool(page.find("style")) == (path.name == "404.html"), path


def test_every_page_forbids_what_it_does_not_use(pages: dict[Path, Element]) -> None:
    for path, page in pages.items():
        policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
        assert ("script-src 'self'" in policy) == (path.name != "404.html"), path
        may_ask = path.parent.name == "diff"
        assert ("; connect-src 'self'" in policy) == ("connect-src" in policy) == may_ask, path


def test_style_sheets_fetch_only_fonts_of_the_site(site: Path) -> None:
    for path in (site / "static").glob("*.css"):
        text = path.read_text(encoding="utf-8")
        fetched = re.findall(r'url\("([a-z-]+\.woff2)"\)', text)
        assert len(fetched) == len(re.findall(r"url\(|@import", text))
        assert all((path.parent / name).is_file() for name in fetched)


def test_the_missing_page_stands_alone(pages: dict[Path, Element], site: Path) -> None:
    """It is served at any depth: a relative link on it would lead to yet another missing page."""
    page = pages[site / "404.html"]
    assert [address for element, address in addresses(page) if element.tag != "use"] == ["#main"]


def test_the_page_of_a_run_stays_the_same_from_the_next_nightly_on(sampled: Sample, site: Path, tmp_path: Path) -> None:
    """Only that of the run that the verdict is about has the verdict's reason and card, too."""
    judged = {item.run_id for item in sampled.verdicts.devices}
    devices = tuple(item.model_copy(update={"run_id": "other"}) for item in sampled.verdicts.devices)
    later = sampled.verdicts.model_copy(
        update={"judged_at": NOW + timedelta(days=3), "stale_reason": "too old", "devices": devices, "plan_id": "other"}
    )
    render(sampled.registry, sampled.history, later, tmp_path / "later")
    newest = {
        Path(page.path)
        for item in sampled.registry
        for page in run_pages(sampled.history.stored_runs(item.device.name))
        if page.run.id in judged
    }
    pages = (site / "d").glob("*/*/**/index.html")
    runs = [
        path.relative_to(site) for path in pages if path.parent.name not in ("latest", "trends", "accuracy", "runs")
    ]
    assert len(runs) > 100
    differ = {name for name in runs if (site / name).read_bytes() != (tmp_path / "later" / name).read_bytes()}
    assert differ <= newest
    assert all("reason" in (site / name).read_text(encoding="utf-8") for name in differ)


def test_the_same_inputs_give_the_same_bytes(sampled: Sample, site: Path, tmp_path: Path) -> None:
    render(sampled.registry, sampled.history, sampled.verdicts, tmp_path / "again")
    first = {path.relative_to(site): path.read_bytes() for path in site.rglob("*") if path.is_file()}
    again = tmp_path / "again"
    assert first == {path.relative_to(again): path.read_bytes() for path in again.rglob("*") if path.is_file()}
