"""The dashboard in a real browser: from the disk and from a sub-path of a server, in light and dark, wide and narrow.

Needs Chromium, playwright and axe-playwright-python. Without them the tests are skipped on a person's machine and fail
under CI, each with a message that says how to get them.
"""

from __future__ import annotations

import functools
import importlib.resources
import importlib.util
import json
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from unit.render.hostile import EVIL_NAME, hostile_sample
from unit.render.sample import sample
from unit.render.sample_clusters import ALIKE
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.stages.render import render

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

pytestmark = [pytest.mark.browser, pytest.mark.long]

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
NARROW = 320
RUN = f"d/borealis/{plan_id(NIGHTS - 1)}/index.html"
PAGES = (
    "index.html",
    "d/borealis/index.html",
    "d/dune/index.html",
    "d/fjord/index.html",
    "d/indigo/index.html",
    "d/marble/index.html",
    RUN,
    "d/fjord/latest/index.html",
    "c/index.html",
    f"c/{ALIKE.id}/index.html",
    f"n/{plan_id(NIGHTS - 1)}/index.html",
    "n/index.html",
    "known/index.html",
    "flaky/index.html",
    "capabilities/index.html",
    "method/index.html",
    "health/index.html",
    "404.html",
)
HOSTILE_PAGES = (
    "index.html",
    "d/borealis/index.html",
    "c/index.html",
    f"c/{EVIL_NAME.id}/index.html",
    f"n/{plan_id(NIGHTS - 1)}/index.html",
    "known/index.html",
    "flaky/index.html",
)
SUB_PATH = "some/sub/path"


def missing(what: str, how: str) -> None:
    """Skip where a person may do without, fail where nobody would notice."""
    message = f"{what} is not there; {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def executable() -> str:
    named = os.environ.get("OOTCI_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None or not Path(found).is_file():
        missing("Chromium", "install it with `apt-get install chromium`, or name one in OOTCI_CHROMIUM")
    return str(found)


@pytest.fixture(scope="module")
def browser(executable: str) -> Iterator[Browser]:
    if importlib.util.find_spec("playwright") is None:
        missing("playwright", "install it with `pip install playwright`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def axe() -> str:
    if importlib.util.find_spec("axe_playwright_python") is None:
        missing("axe-core", "install it with `pip install axe-playwright-python`")
    return (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Sites:
    """Where the sample site and the hostile one can be opened, each as a folder's address with a final slash."""

    folder: Path
    server: str

    def address(self, how: str, which: str) -> str:
        return f"{self.server}{which}/" if how == "http" else f"{(self.folder / which).as_uri()}/"


class Handler(SimpleHTTPRequestHandler):
    """A server of static files that answers a missing page as GitHub Pages does."""

    def log_message(self, *_: object) -> None:
        pass

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        body = (Path(self.directory) / SUB_PATH / "sample" / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    top = tmp_path_factory.mktemp("browser")
    folder = top / SUB_PATH
    folder.mkdir(parents=True)
    for name, make in (("sample", sample), ("hostile", hostile_sample)):
        made = make(top / f"history-{name}")
        render(made.registry, made.history, made.verdicts, folder / name)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(top)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Sites(folder, f"http://127.0.0.1:{server.server_port}/{SUB_PATH}/")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Visit:
    """A page that was opened, with everything that the browser had to say about it."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def visit(context: BrowserContext, address: str) -> Visit:
    """Open a page and listen."""
    seen = Visit(context.new_page())
    seen.page.on("console", lambda message: seen.complaints.append(f"{message.type}: {message.text}"))
    seen.page.on("pageerror", lambda error: seen.complaints.append(f"error: {error}"))
    seen.page.on("requestfailed", lambda request: seen.complaints.append(f"failed: {request.url}"))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(address, wait_until="load")
    return seen


@pytest.mark.parametrize("how", ["file", "http"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_styled_without_complaint_and_asks_nobody_else(
    browser: Browser, sites: Sites, how: str, name: str
) -> None:
    base = sites.address(how, "sample")
    with browser.new_context() as context:
        seen = visit(context, base + name)
        assert seen.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')")
        assert seen.complaints == []
        assert all(address.startswith(base) for address in seen.requests), seen.requests
        assert name == "404.html" or f"{base}static/style.css" in seen.requests


@pytest.mark.parametrize("which", ["sample", "hostile"])
def test_no_page_scrolls_sideways_on_a_narrow_screen(browser: Browser, sites: Sites, which: str) -> None:
    with browser.new_context(viewport={"width": NARROW, "height": 640}) as context:
        for name in PAGES if which == "sample" else HOSTILE_PAGES:
            page = visit(context, sites.address("file", which) + name).page
            # Everything that is folded away is opened first: what is inside must fit, too.
            page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
            assert page.evaluate("document.documentElement.scrollWidth") <= NARROW, name


@pytest.mark.parametrize("width", [480, 640, 768, 900, 1000, 1100, 1200, 1217, 1240, 1440])
def test_no_page_scrolls_sideways_at_any_width(browser: Browser, sites: Sites, width: int) -> None:
    with browser.new_context(viewport={"width": width, "height": 800}) as context:
        for name in (
            "index.html",
            "d/borealis/index.html",
            "c/index.html",
            "capabilities/index.html",
            "health/index.html",
        ):
            page = visit(context, sites.address("file", "sample") + name).page
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name


@pytest.mark.parametrize("how", ["file", "http"])
@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_hostile_text_runs_nothing_and_fetches_nothing(browser: Browser, sites: Sites, how: str, name: str) -> None:
    base = sites.address(how, "hostile")
    with browser.new_context() as context:
        seen = visit(context, base + name)
        assert "ran" not in seen.page.title().split()
        assert seen.page.locator("script, img, iframe").count() == 0
        assert "document.title='ran'" in seen.page.inner_text("main")
        assert seen.complaints == []
        assert all(address.startswith(base) for address in seen.requests), seen.requests


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(browser: Browser, sites: Sites, axe: str, scheme: str, name: str) -> None:
    with browser.new_context(color_scheme=scheme) as context:  # type: ignore[arg-type]
        page = visit(context, sites.address("file", "sample") + name).page
        page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, {resultTypes: ['violations', 'incomplete']})")
        assert found["passes"] is not None
        assert [_finding(item) for item in found["violations"]] == []


@pytest.mark.parametrize("name", ["index.html", "d/borealis/index.html"])
def test_axe_finds_nothing_on_a_narrow_screen(browser: Browser, sites: Sites, axe: str, name: str) -> None:
    with browser.new_context(viewport={"width": NARROW, "height": 640}) as context:
        page = visit(context, sites.address("file", "sample") + name).page
        page.evaluate(axe)
        found = page.evaluate("axe.run(document)")
        assert [_finding(item) for item in found["violations"]] == []


def _finding(violation: dict[str, object]) -> str:
    nodes = violation["nodes"]
    assert isinstance(nodes, list)
    return f"{violation['id']}: {json.dumps([node['html'][:120] for node in nodes[:3]])}"


def test_the_first_key_reaches_the_content(browser: Browser, sites: Sites) -> None:
    with browser.new_context() as context:
        page = visit(context, sites.address("http", "sample") + "index.html").page
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"


def test_a_failure_is_one_click_away_from_the_front_page(browser: Browser, sites: Sites) -> None:
    with browser.new_context() as context:
        page = visit(context, sites.address("http", "sample") + "index.html").page
        page.click("#borealis a.new")
        assert page.locator("text=Tensor-likes are not equal!").first.is_visible()
        assert page.locator("pre.command").first.is_visible()
        top = page.evaluate("document.querySelector('.failure').getBoundingClientRect().top")
        assert 0 <= top < page.evaluate("innerHeight") / 2, "the first failure is not where the link leads"


def test_it_is_complete_without_javascript(browser: Browser, sites: Sites) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        page = visit(context, sites.address("http", "sample") + "index.html").page
        assert page.locator("tbody tr").count() == 15
        assert "Do not merge" in page.inner_text("main")


def test_the_missing_page_has_its_looks_at_any_depth(browser: Browser, sites: Sites) -> None:
    with browser.new_context() as context:
        seen = visit(context, sites.address("http", "sample") + "d/left/the/registry/")
        assert seen.page.inner_text("h1") == "No such page"
        assert seen.page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--accent')")
        assert [text for text in seen.complaints if "404" not in text] == []


def test_in_forced_colours_the_page_uses_the_reader_s(browser: Browser, sites: Sites) -> None:
    with browser.new_context(forced_colors="active") as context:
        page = visit(context, sites.address("file", "sample") + "index.html").page
        colours = page.evaluate(
            "[...document.querySelectorAll('.status .i')].map((item) => getComputedStyle(item).color)"
        )
        assert len(set(colours)) == 1
        assert page.locator("table .status").first.inner_text() == "OK"
