"""Search and the switch of the theme in a real browser, also from the disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import opened, violations, visit
from unit.render.sample_clusters import ALIKE

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.long]
RESULTS = "dialog.search li a"


def test_a_slash_opens_the_search_and_its_index_is_loaded_only_then(browser: Browser, site: Path) -> None:
    with browser.new_context() as context:
        seen = visit(context, f"{site.as_uri()}/d/borealis/index.html")
        page = seen.page
        index = f"{site.as_uri()}/static/search-index.js"
        assert index not in seen.requests
        page.keyboard.press("/")
        page.keyboard.type("TEST_transpose integration")
        page.wait_for_selector(RESULTS)
        assert index in seen.requests
        assert "integration/test_views.py::test_transpose" in page.locator(RESULTS).all_inner_texts()
        page.locator("dialog.search input").fill("not equal")
        addresses = [link.get_attribute("href") for link in page.locator(RESULTS).all()]
        assert f"{site.as_uri()}/c/{ALIKE.id}/index.html" in addresses
        page.locator("dialog.search input").fill("cobalt")
        page.wait_for_function("document.querySelectorAll('dialog.search li a').length > 0")
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.textContent").startswith("Cobalt")
        page.keyboard.press("Enter")
        page.wait_for_url("**/d/cobalt/index.html")
        assert seen.complaints == []


def test_nothing_found_is_said_and_escape_closes(browser: Browser, site: Path, axe: str) -> None:
    with opened(browser, f"{site.as_uri()}/index.html") as page:
        page.get_by_role("button", name="Search /").click()
        page.keyboard.type("nowhere at all")
        page.wait_for_function("document.querySelector('dialog.search output').textContent === '0 found'")
        assert violations(page, axe) == []
        page.keyboard.press("Escape")
        assert not page.locator("dialog.search").is_visible()


def test_the_theme_is_switched_and_kept(browser: Browser, site: Path, axe: str) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, f"{site.as_uri()}/index.html", color_scheme="light") as page:
        light = page.evaluate(background)
        switch = page.get_by_role("button", name="Theme")
        switch.click()
        assert (switch.get_attribute("aria-label"), page.evaluate(background)) == ("Theme: light", light)
        switch.click()
        dark = page.evaluate(background)
        assert switch.get_attribute("aria-label") == "Theme: dark"
        assert dark != light
        page.goto(f"{site.as_uri()}/c/index.html")
        assert page.evaluate(background) == dark
        assert violations(page, axe) == []
