"""Looking at a site with Chromium: what tests of the browser share."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import loopback
from unit.render.sample import NOW

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

NARROW = 320
"""Pixels of the narrowest screen that a page must fit."""


class Handler(loopback.Files):
    """A server of static files that answers a missing page as GitHub Pages does, with the one that is named."""

    missing: Path

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with the site's own page."""
        self.answer(code, self.missing.read_bytes(), {"Content-Type": "text/html; charset=utf-8"})


@contextlib.contextmanager
def serving(folder: Path, missing: Path) -> Iterator[str]:
    """A folder on a free port of loopback: its address, with a slash at the end."""
    handler = type("Serving", (Handler,), {"missing": missing})
    with loopback.running(loopback.serving(folder, handler)) as server:
        yield f"{server.url}/"


@dataclass(frozen=True)
class Sites:
    """Where the sample site and the hostile one can be opened, each as a folder's address with a final slash."""

    folder: Path
    server: str

    def address(self, how: str, which: str) -> str:
        return f"{self.server}{which}/" if how == "http" else f"{(self.folder / which).as_uri()}/"


@dataclass
class Visit:
    """A page that was opened, with everything that the browser had to say about it."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def visit(context: BrowserContext, address: str, at: datetime = NOW + timedelta(hours=2)) -> Visit:
    """Open a page, at a time, and listen."""
    seen = Visit(context.new_page())
    seen.page.clock.set_fixed_time(at)
    seen.page.on("console", lambda message: seen.complaints.append(f"{message.type}: {message.text}"))
    seen.page.on("pageerror", lambda error: seen.complaints.append(f"error: {error}"))
    seen.page.on("requestfailed", lambda request: seen.complaints.append(f"failed: {request.url}"))
    seen.page.on("request", lambda request: seen.requests.append(request.url))
    seen.page.goto(address, wait_until="load")
    return seen


@contextlib.contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    """A page in a context of its own, which has these options."""
    with browser.new_context(**options) as context:
        yield visit(context, address).page


def address(page: Page) -> str:
    """What the address bar says now; Playwright's own ``page.url`` hears of what a script puts there a moment later."""
    said: str = page.evaluate("location.href")
    return said


COLOURS = ("color-contrast", "link-in-text-block")
"""The rules of axe whose result depends on the colour scheme. What axe cannot decide of them,
`test_palette.py` computes for every pair of the palette."""


def violations(page: Page, axe: str, rules: Sequence[str] = ()) -> list[str]:
    """What axe finds on a page, or cannot decide, with everything that is folded away opened first; by all of its rules
    or by those."""
    page.evaluate("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
    page.evaluate(axe)
    found = page.evaluate(
        "only => axe.run(document, {resultTypes: ['violations', 'incomplete'], ...only})",
        {"runOnly": list(rules)} if rules else {},
    )
    assert found["passes"] is not None
    return [
        f"{item['id']}: {json.dumps([node['html'][:120] for node in item['nodes'][:3]])}"
        for item in [*found["violations"], *(item for item in found["incomplete"] if item["id"] not in COLOURS)]
    ]
