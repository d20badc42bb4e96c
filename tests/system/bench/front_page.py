"""How soon the front page of many devices can be read and used in Chromium, from the disk and with an empty cache."""

from __future__ import annotations

import gzip
import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import TypedDict

from chromium import chromium

TURNS = 15
"""One more before them is not counted."""
ARGUMENTS = ("--no-sandbox", "--disable-gpu")
# An observer, because the page's own policy forbids what waiting for a condition would evaluate again and again.
_TIMES = """() => new Promise(resolve => new PerformanceObserver(list => {
  const [paint] = list.getEntriesByName("first-contentful-paint");
  if (!paint) return;
  const [page] = performance.getEntriesByType("navigation");
  resolve([page.domInteractive, page.domContentLoadedEventEnd, paint.startTime]);
}).observe({type: "paint", buffered: true}))"""


class Opened(TypedDict):
    """Milliseconds since the navigation began, medians of some turns; and the load of the machine meanwhile.

    ``parsed`` is when the page's elements are there, ``ready`` when its scripts have run, and ``painted`` when the
    first text is seen; ``interactive`` is when it is both ready and painted.
    """

    turns: int
    load: float
    elements: int
    bytes: int
    compressed: int
    parsed: float
    ready: float
    painted: float
    interactive: float
    interactive_least: float
    empty_page: float


def opened(page: Path) -> Opened | str:
    """Open a page so many times, each in a fresh window, and an empty page in turn with it; or why it cannot be."""
    executable = chromium()
    if executable is None:
        return "not measured: Chromium is not installed"
    if importlib.util.find_spec("playwright") is None:
        return "not measured: playwright is not installed"
    from playwright.sync_api import Browser, sync_playwright

    empty = page.with_name("empty.html")
    empty.write_text("<!doctype html><title>empty</title><p>nothing", encoding="utf-8")

    def look(browser: Browser, path: Path) -> tuple[list[float], int]:
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        try:
            tab = context.new_page()
            tab.goto(path.as_uri())
            return tab.evaluate(_TIMES), tab.evaluate("document.querySelectorAll('*').length")
        finally:
            context.close()

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        try:
            seen = [(look(browser, page), look(browser, empty)) for _ in range(TURNS + 1)][1:]
        finally:
            browser.close()
    empty.unlink()
    times = [times for (times, _), _ in seen]
    content = page.read_bytes()
    return Opened(
        turns=TURNS,
        load=round(os.getloadavg()[0], 1),
        elements=seen[0][0][1],
        bytes=len(content),
        compressed=len(gzip.compress(content, mtime=0)),
        parsed=_middle(one[0] for one in times),
        ready=_middle(one[1] for one in times),
        painted=_middle(one[2] for one in times),
        interactive=_middle(max(one[1:]) for one in times),
        interactive_least=round(min(max(one[1:]) for one in times), 1),
        empty_page=_middle(max(one[1:]) for _, (one, _) in seen),
    )


def _middle(values: Iterable[float]) -> float:
    return round(median(values), 1)
