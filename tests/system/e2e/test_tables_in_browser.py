"""Tables that are filtered and sorted in a real browser: by keyboard, with the state in the address, or not at all.

Needs Chromium, playwright and axe-playwright-python, as the other tests of the dashboard in a browser do.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from browsing import COLOURS, NARROW, Sites, address, opened, violations, visit
from drawn import deep_but

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.browser, pytest.mark.long]


FILTERED = (
    "known/index.html",
    "flaky/index.html",
    "t/index.html",
    "capabilities/index.html",
    "operators/index.html",
    "operators/jasper/index.html",
)
"""The pages with controls that filter a table."""


def rows_shown(page: Page) -> list[str]:
    return [name.split("\n")[0] for name in page.locator("table[data-filter] tbody tr:visible th").all_inner_texts()]


@pytest.mark.parametrize("how", ["file", "http"])
def test_devices_are_filtered_by_keyboard_and_the_address_says_how(browser: Browser, sites: Sites, how: str) -> None:
    with browser.new_context() as context:
        seen = visit(context, sites.address(how, "sample") + "capabilities/index.html")
        page = seen.page
        told = page.get_by_role("search").get_by_role("status")
        assert told.inner_text() == "15 of 15 devices"
        page.get_by_label("Filter devices").focus()
        page.keyboard.type("BUILD broken")
        assert rows_shown(page) == ["Dune NPU"]
        assert told.inner_text() == "1 of 15 devices"
        assert address(page).endswith("capabilities/index.html?q=BUILD+broken")
        page.reload()
        assert rows_shown(page) == ["Dune NPU"]
        page.get_by_label("Filter devices").focus()
        page.keyboard.press("Escape")
        assert told.inner_text() == "15 of 15 devices"
        assert address(page).endswith("index.html")
        page.keyboard.press("Tab")
        page.keyboard.type("reference")
        assert rows_shown(page) == ["OpenReg"]
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        assert rows_shown(page) == []
        assert address(page).endswith("?tier=reference&only=1")
        assert seen.complaints == []


def test_a_table_of_one_row_has_no_controls(browser: Browser, sites: Sites) -> None:
    def one_row(route: Route) -> None:
        body = route.fetch().text()
        first = body.index("</tr>", body.index("<tbody", body.index("data-filter"))) + len("</tr>")
        route.fulfill(body=body[:first] + body[body.index("</tbody>", first) :], content_type="text/html")

    with browser.new_context() as context:
        context.route("**/index.html", one_row)
        seen = visit(context, sites.address("http", "sample") + "t/index.html")
        assert len(rows_shown(seen.page)) == 1
        assert seen.page.get_by_role("search").count() == seen.page.locator("table[data-filter] th button").count() == 0
        assert seen.complaints == []


def test_going_back_brings_the_filter_back(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("http", "sample") + "capabilities/index.html?tier=gating#dune") as page:
        assert len(rows_shown(page)) == 3
        page.evaluate("location.hash = ''")
        page.evaluate("history.pushState(null, '', '?q=nobody')")
        page.go_back()
        page.get_by_text("3 of 15 devices").wait_for()


@pytest.mark.parametrize("how", ["file", "http"])
def test_a_table_is_sorted_by_keyboard_and_the_address_says_how(browser: Browser, sites: Sites, how: str) -> None:
    with browser.new_context() as context:
        seen = visit(context, sites.address(how, "sample") + "t/index.html?only=1")
        page = seen.page
        before = rows_shown(page)
        page.get_by_role("button", name="Suite and file").focus()
        page.keyboard.press("Enter")
        head = page.get_by_role("columnheader", name="Suite and file")
        page.wait_for_url("**sort=0a")
        assert head.get_attribute("aria-sort") == "ascending"
        assert rows_shown(page) == sorted(before) != before
        assert address(page).endswith("?only=1&sort=0a")
        page.keyboard.press("Enter")
        page.wait_for_url("**sort=0d")
        assert rows_shown(page) == sorted(before, reverse=True)
        page.reload()
        page.locator("th[aria-sort=descending]").wait_for()
        page.wait_for_timeout(100)
        assert rows_shown(page) == sorted(before, reverse=True)
        assert seen.complaints == []


def test_numbers_are_sorted_as_numbers(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("file", "sample") + "t/index.html?sort=1d") as page:
        page.wait_for_timeout(100)
        tests = [int(text) for text in page.locator("tbody tr td:nth-child(2)").all_inner_texts()]
        assert tests == sorted(tests, reverse=True)
        assert max(tests) >= 10 > min(tests)


def test_operators_that_one_device_lacks_are_found(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("file", "sample") + "operators/index.html") as page:
        page.get_by_label("Device", exact=True).select_option("Jasper DSP")
        page.get_by_label("Only what is not native or passed").check()
        assert rows_shown(page) == ["cumsum", "fft.rfft"]
        cells = page.locator("table.ops tbody tr:visible td:visible")
        assert cells.all_text_contents() == ["M", "C"]
        heard = page.locator("table.ops").aria_snapshot()
        assert all(f'cell "{word}"' in heard for word in ("Mismatch", "Crash")), heard
        page.get_by_role("button", name="Clear").press("Enter")
        assert len(rows_shown(page)) == 9
        page.keyboard.type("fft")
        assert rows_shown(page) == ["fft.rfft"]


@pytest.mark.parametrize("name", FILTERED)
def test_without_javascript_there_is_the_whole_table_and_no_dead_control(
    browser: Browser, sites: Sites, name: str
) -> None:
    with opened(
        browser, sites.address("file", "sample") + name + "?q=nothing-is-called-so", java_script_enabled=False
    ) as page:
        assert (
            page.locator("table[data-filter] tbody tr:visible").count()
            == page.locator("table[data-filter] tbody tr").count()
        )
        assert page.locator("input:visible, select:visible, button:visible").count() == 0


@pytest.mark.parametrize("name", deep_but({"known/index.html", "operators/index.html"}, FILTERED))
def test_axe_finds_nothing_while_a_table_is_filtered(browser: Browser, sites: Sites, axe: str, name: str) -> None:
    with opened(browser, sites.address("file", "sample") + name + "?q=a&sort=0d", color_scheme="light") as page:
        page.wait_for_timeout(100)
        assert page.get_by_role("search").get_by_role("button", name="Clear").is_enabled()
        assert violations(page, axe) == []
        page.emulate_media(color_scheme="dark")
        assert violations(page, axe, COLOURS) == []


def test_controls_fit_a_narrow_screen(browser: Browser, sites: Sites) -> None:
    with browser.new_context(viewport={"width": NARROW, "height": 640}) as context:
        for name in FILTERED:
            page = visit(context, sites.address("file", "hostile") + name.replace("jasper", "borealis")).page
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW, name


def _late(route: Route) -> None:
    """A font that comes when the text is drawn already."""
    time.sleep(0.4)
    route.continue_()


def test_nothing_on_the_first_screen_moves_when_the_controls_come(browser: Browser, sites: Sites) -> None:
    with browser.new_context() as context:
        context.route("**/*.woff2", _late)
        for name in FILTERED:
            page = visit(context, sites.address("http", "sample") + name).page
            moved = page.evaluate(
                "new Promise((tell) => new PerformanceObserver((list) => tell(list.getEntries()"
                ".reduce((sum, entry) => sum + entry.value, 0))).observe({type: 'layout-shift', buffered: true})"
                " || setTimeout(() => tell(0), 200))"
            )
            assert moved < 0.05, name
