"""The documentation in a real browser: readable on a narrow screen and a wide one, in light and dark; search works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browsing import NARROW, serving, violations, visit
from drawn import deep

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser]

PAGES = (
    "index.html",
    "tutorial/add-your-device.html",
    "guides/read-a-failure.html",
    "back-end/index.html",
    "capabilities/amp.html",
    "explanation/privateuse1.html",
    "performance.html",
    "reference/command-line.html",
    "reference/device-file.html",
    "reference/errors.html",
    "reference/schemas.html",
    "reference/workflows.html",
)
WHOLE = 16
"""A name of so many letters stays on one line of a table's cell, however narrow the screen."""
BROKEN = """limit => [...document.querySelectorAll('td code, th code')]
    .filter((item) => item.textContent.length < limit && !/[\\s-]/.test(item.textContent))
    .filter((item) => item.getClientRects().length > 1).map((item) => item.textContent)"""


@pytest.mark.parametrize("width", [NARROW, 1280])
def test_no_page_scrolls_sideways_and_no_name_is_broken(browser: Browser, documentation: Path, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 800}) as context:
        for name in PAGES:
            seen = visit(context, (documentation / name).as_uri())
            assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, name
            assert seen.page.evaluate(BROKEN, WHOLE) == [], name
            assert seen.complaints == []


@pytest.mark.parametrize("scheme", ["light", deep("dark")])
def test_axe_finds_nothing(browser: Browser, documentation: Path, axe: str, scheme: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:  # type: ignore[arg-type]
        for name in (*PAGES[:4], "reference/device-file.html", "search.html"):
            page = visit(context, (documentation / name).as_uri()).page
            assert violations(page, axe) == [], name


def test_code_is_copied_and_a_theme_is_kept(browser: Browser, documentation: Path) -> None:
    with serving(documentation, documentation / "index.html") as address, browser.new_context() as context:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = visit(context, f"{address}back-end/registration.html").page
        page.click(".copied button >> nth=0")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == page.locator(".copied pre >> nth=0").text_content()
        page.click("#theme")
        page.click("#theme")
        assert visit(context, f"{address}index.html").page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_the_search_finds_a_page(browser: Browser, documentation: Path) -> None:
    with serving(documentation, documentation / "index.html") as address, browser.new_context() as context:
        page = visit(context, f"{address}guides/bisect.html").page
        page.fill("input[type=search]", "autocast")
        page.press("input[type=search]", "Enter")
        found = page.locator("#properdocs-search-results article a")
        found.first.wait_for(timeout=60_000)
        assert any("capabilities/amp.html" in str(link.get_attribute("href")) for link in found.all())
