"""The dashboard in a real browser: from the disk and from a sub-path of a server, in light and dark, wide and narrow.

Needs Chromium, playwright and axe-playwright-python. Without them the tests are skipped on a person's machine and fail
under CI, each with a message that says how to get them.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from browsing import COLOURS, NARROW, Sites, opened, violations, visit
from drawn import deep, deep_but
from unit.render.hostile import EVIL_NAME
from unit.render.sample import NOW, STALE_AT
from unit.render.sample_clusters import ALIKE, GONE
from unit.render.sample_runs import NIGHTS, plan_id

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = [pytest.mark.browser, pytest.mark.long]

RUN = f"d/borealis/{plan_id(NIGHTS - 1)}/index.html"
DRAWN = (
    "index.html",
    "d/borealis/index.html",
    RUN,
    "c/index.html",
    f"c/{ALIKE.id}/index.html",
    f"n/{plan_id(NIGHTS - 1)}/index.html",
    "known/index.html",
    "flaky/index.html",
    "t/index.html",
    "trends/index.html",
    "devices/index.html",
    "devices/add/index.html",
    "capabilities/index.html",
    "operators/index.html",
    "accuracy/index.html",
    "diff/index.html",
    "health/index.html",
    "404.html",
)
"""Run by `make test`: one page of each kind that a browser lays out in its own way."""
PAGES = (
    *DRAWN,
    "d/dune/index.html",
    "d/fjord/index.html",
    "d/indigo/index.html",
    "d/marble/index.html",
    "d/fjord/latest/index.html",
    f"c/{GONE.id}/index.html",
    "n/index.html",
    "t/integration/test_views/index.html",
    "d/cobalt/trends/index.html",
    "d/cobalt/runs/index.html",
    "badge/index.html",
    "support/index.html",
    "operators/jasper/index.html",
    "operators/dune/index.html",
    "models/index.html",
    "d/jasper/accuracy/index.html",
    "method/index.html",
)
HOSTILE_PAGES = (
    "index.html",
    "d/borealis/index.html",
    "c/index.html",
    f"c/{EVIL_NAME.id}/index.html",
    f"n/{plan_id(NIGHTS - 1)}/index.html",
    "known/index.html",
    "flaky/index.html",
    "t/index.html",
    "d/borealis/trends/index.html",
    "d/borealis/accuracy/index.html",
    "operators/index.html",
    "operators/borealis/index.html",
    "devices/index.html",
)


@pytest.mark.parametrize("name", deep_but(DRAWN, PAGES))
def test_a_page_is_styled_without_complaint_asks_nobody_else_and_axe_finds_nothing(
    browser: Browser, sites: Sites, axe: str, name: str
) -> None:
    for how in ("http", "file"):
        base = sites.address(how, "sample")
        with browser.new_context() as context:
            seen = visit(context, base + name)
            assert seen.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')")
            assert seen.complaints == []
            assert all(address.startswith(base) for address in seen.requests), seen.requests
            assert name == "404.html" or f"{base}static/style.css" in seen.requests
            if how == "file":
                seen.page.emulate_media(color_scheme="light")
                assert violations(seen.page, axe) == []
                seen.page.emulate_media(color_scheme="dark")
                assert violations(seen.page, axe, COLOURS) == []


@pytest.mark.parametrize("which", ["sample", "hostile"])
def test_no_page_scrolls_sideways_on_a_narrow_screen(browser: Browser, sites: Sites, which: str) -> None:
    with browser.new_context(viewport={"width": NARROW, "height": 640}) as context:
        for name in PAGES if which == "sample" else HOSTILE_PAGES:
            page = visit(context, sites.address("file", which) + name).page
            # Everything that is folded away is opened first: what is inside must fit, too.
            page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW, name
            page.close()


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "d/borealis/index.html",
        "c/index.html",
        "capabilities/index.html",
        "trends/index.html",
        "d/cobalt/trends/index.html",
        "operators/index.html",
        "operators/jasper/index.html",
        "health/index.html",
    ],
)
def test_page_does_not_scroll_sideways_at_any_width(browser: Browser, sites: Sites, name: str) -> None:
    with opened(browser, sites.address("file", "sample") + name) as page:
        for width in (480, 640, 768, 900, 1000, 1100, 1200, 1217, 1240, 1440):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("[innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [width, True]


@pytest.mark.parametrize("how", ["file", deep("http")])
@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_hostile_text_runs_nothing_and_fetches_nothing(browser: Browser, sites: Sites, how: str, name: str) -> None:
    base = sites.address(how, "hostile")
    with browser.new_context() as context:
        seen = visit(context, base + name)
        assert "ran" not in seen.page.title().split()
        assert seen.page.locator("script:not([src^='static/'], [src^='../']), main img, iframe").count() == 0
        assert "document.title='ran'" in seen.page.inner_text("main")
        assert seen.complaints == []
        assert all(address.startswith(base) for address in seen.requests), seen.requests


@pytest.mark.parametrize("name", ["index.html", "d/borealis/index.html"])
def test_axe_finds_nothing_on_a_narrow_screen(browser: Browser, sites: Sites, axe: str, name: str) -> None:
    with opened(browser, sites.address("file", "sample") + name, viewport={"width": NARROW, "height": 640}) as page:
        assert violations(page, axe) == []


def test_the_first_key_reaches_the_content(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("http", "sample") + "index.html") as page:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("scripts", [True, False])
def test_the_menu_opens_by_key(browser: Browser, sites: Sites, scripts: bool) -> None:
    with opened(
        browser,
        sites.address("http", "sample") + "index.html",
        viewport={"width": NARROW, "height": 640},
        java_script_enabled=scripts,
    ) as page:
        page.locator(".menu summary").focus()
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.locator(":focus").inner_text() == "Predicted breaks"
        box = page.locator(".menu ul").bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= NARROW
        page.keyboard.press("Escape")
        assert page.locator(".menu ul").is_visible() != scripts


@pytest.mark.parametrize("width", deep_but({NARROW, 1024}, (NARROW, 768, 1000, 1024, 1400)))
def test_the_pages_of_the_header_are_in_one_line(browser: Browser, sites: Sites, width: int) -> None:
    with opened(
        browser, sites.address("file", "sample") + "index.html", viewport={"width": width, "height": 640}
    ) as page:
        tops = page.eval_on_selector_all(".top nav > *", "items => items.map(item => item.offsetTop)")
        assert len(set(tops)) == 1


def test_a_failure_is_one_click_away_from_the_front_page(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("http", "sample") + "index.html") as page:
        page.click("#borealis a.more")
        page.wait_for_load_state()  # until then the browser has not scrolled there
        assert page.locator("text=Tensor-likes are not equal!").first.is_visible()
        assert page.locator("pre.command").first.is_visible()
        top = page.evaluate("document.querySelector('.failure').getBoundingClientRect().top")
        assert 0 <= top < page.evaluate("innerHeight") / 2, "the first failure is not where the link leads"


def test_a_page_says_how_old_it_is_by_the_reader_s_clock(browser: Browser, sites: Sites) -> None:
    address = sites.address("file", "sample") + "index.html"
    with browser.new_context() as context:
        page = visit(context, address).page
        assert "built 2026-11-21 05:02 UTC, 2 h ago" in page.inner_text(".alive")
        assert not page.locator("#too-old").is_visible()
        assert not visit(context, address, STALE_AT).page.locator("#too-old").is_visible()
        late = visit(context, address, STALE_AT + timedelta(days=3, minutes=1)).page
        assert late.inner_text("#too-old").startswith("Stale: no newer nightly; one was expected by 2026-11-22")
        assert "built 2026-11-21 05:02 UTC, 4 days ago" in late.inner_text(".alive")


def test_a_page_that_stays_open_grows_old(browser: Browser, sites: Sites) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.clock.install(time=NOW)
        page.goto(sites.address("file", "sample") + "index.html")
        page.clock.fast_forward("40:00:00")
        assert page.locator("#too-old").is_visible()
        assert ", 40 h ago" in page.inner_text(".alive")


def test_a_row_of_nights_is_one_tab_stop_and_the_arrows_move_inside(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("http", "sample") + "index.html") as page:
        page.locator("#dune .nights-of").focus()
        page.keyboard.press("ArrowLeft")
        said = "document.activeElement.querySelector('title').textContent"
        assert page.evaluate(said).startswith("Sat 21 Nov 2026: BUILD BROKEN")
        page.keyboard.press("ArrowLeft")
        assert page.evaluate(said).startswith("Fri 20 Nov 2026")
        page.keyboard.press("Home")
        assert page.evaluate(said).startswith("Sun 8 Nov 2026: OK")
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{plan_id(NIGHTS - 1)}/**")


def test_a_link_to_a_folded_device_opens_its_group(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("file", "sample") + "index.html") as page:
        assert not page.locator("#cobalt").is_visible()
        page.goto(sites.address("file", "sample") + "index.html#cobalt")
        page.locator("#cobalt").wait_for(state="visible")


def test_it_is_complete_without_javascript(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("http", "sample") + "index.html", java_script_enabled=False) as page:
        assert page.locator("li.row").count() == 15
        assert "Hold merges" in page.inner_text("main")


@pytest.mark.parametrize("width", [deep(1400), 320])
@pytest.mark.parametrize("name", ["d/borealis/index.html", f"n/{plan_id(NIGHTS - 1)}/index.html", RUN])
def test_a_command_is_broken_between_its_words_and_fits_its_box(
    browser: Browser, sites: Sites, name: str, width: int
) -> None:
    with opened(browser, sites.address("file", "sample") + name, viewport={"width": width, "height": 900}) as page:
        words = page.locator("pre.command span").evaluate_all("all => all.map(word => word.getClientRects().length)")
        wide = page.locator("pre.command").evaluate_all(
            "all => all.filter(box => box.scrollWidth > box.clientWidth).length"
        )
        copied = page.evaluate(
            "() => { const box = document.querySelector('pre.command');"
            " getSelection().selectAllChildren(box); return [getSelection().toString(), box.textContent] }"
        )
    assert len(words) > 5
    # A word in a folded part has no box.
    assert set(words) <= {0, 1}
    assert wide == 0
    assert 1 in words
    assert copied[0].strip() == copied[1]


def test_the_missing_page_has_its_looks_at_any_depth(browser: Browser, sites: Sites) -> None:
    with browser.new_context() as context:
        seen = visit(context, sites.address("http", "sample") + "d/left/the/registry/")
        assert seen.page.inner_text("h1") == "Page not found"
        assert seen.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')")
        assert [text for text in seen.complaints if "404" not in text] == []


@pytest.mark.parametrize("run", ["1999-01-01", "1999-01-01/attempt-2"])
def test_the_address_of_a_run_without_a_page_leads_to_the_list_of_its_devices_runs(
    browser: Browser, sites: Sites, run: str
) -> None:
    base = sites.address("http", "sample")
    with opened(browser, f"{base}d/cobalt/{run}/") as page:
        page.wait_for_url(f"{base}d/cobalt/runs/index.html#{run}")
        assert "runs" in page.inner_text("h1")
        assert page.goto(f"{base}d/gone/{run}/")
        page.wait_for_url(f"{base}d/gone/runs/index.html#{run}")
        assert page.inner_text("h1") == "Page not found"


@pytest.mark.parametrize("name", ["trends/index.html", "d/cobalt/trends/index.html"])
def test_the_glyph_of_a_status_is_a_square_beside_trends(browser: Browser, sites: Sites, name: str) -> None:
    with opened(browser, sites.address("file", "sample") + name) as page:
        boxes = [glyph.bounding_box() for glyph in page.locator(".status .i").all()]
        assert boxes
        assert all(box is not None and box["height"] == pytest.approx(box["width"]) for box in boxes), boxes


@pytest.mark.parametrize("name", ["capabilities/index.html", "operators/index.html"])
def test_a_matrix_is_printed_whole(browser: Browser, sites: Sites, name: str) -> None:
    with opened(browser, sites.address("file", "sample") + name, viewport={"width": 1200, "height": 200}) as page:
        page.emulate_media(media="print")
        assert page.locator(".matrix").evaluate("item => item.scrollHeight <= item.clientHeight")


def test_in_forced_colours_the_page_uses_the_reader_s(browser: Browser, sites: Sites) -> None:
    with opened(browser, sites.address("file", "sample") + "d/borealis/index.html", forced_colors="active") as page:
        colours = page.evaluate(
            "[...document.querySelectorAll('.status .i')].map((item) => getComputedStyle(item).color)"
        )
        assert len(set(colours)) == 1
        assert page.locator("table .status").first.inner_text() == "complete"
