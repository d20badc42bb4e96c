"""Pages as they are, so that a change of looks is seen as a difference and not only as a passing test.

What every page has around its content, the frame, and the icons have a golden file each. In the others stands a mark
where the page has the frame of all: where it differs, it is kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.render.sample import Sample
from unit.render.sample_clusters import ALIKE, GONE
from unit.render.sample_runs import NIGHTS, plan_id

from ootci.stages.render import step_summary

PAGES = {
    "front.html": "index.html",
    "device-regressed.html": "d/borealis/index.html",
    "device-known.html": "d/lumen/index.html",
    "device-never-ran.html": "d/indigo/index.html",
    "clusters.html": "c/index.html",
    "compat.html": "compat/index.html",
    "symbols.html": "symbols/index.html",
    "cluster.html": f"c/{ALIKE.id}/index.html",
    "gone.html": f"c/{GONE.id}/index.html",
    "run-build-broken.html": f"d/dune/{plan_id(NIGHTS - 1)}/index.html",
    "health.html": "health/index.html",
    "nightly.html": f"n/{plan_id(NIGHTS - 1)}/index.html",
    "nightlies.html": "n/index.html",
    "known.html": "known/index.html",
    "latest-silent.html": "d/fjord/latest/index.html",
    "flaky.html": "flaky/index.html",
    "lives.html": "t/index.html",
    "life.html": "t/integration/test_views/index.html",
    "device-trends.html": "d/cobalt/trends/index.html",
    "device-runs.html": "d/cobalt/runs/index.html",
    "trends.html": "trends/index.html",
    "operators.html": "operators/index.html",
    "device-operators.html": "operators/jasper/index.html",
    "device-accuracy.html": "d/jasper/accuracy/index.html",
    "registry.html": "devices/index.html",
    "add.html": "devices/add/index.html",
    "badges.html": "badge/index.html",
    "diff.html": "diff/index.html",
    "gate.json": "gate.json",
}


FRAME = (
    re.compile(r"<!doctype html>.*?(?=<title>)", re.S),
    re.compile(r'<link rel="icon".*?feed\.xml">\n', re.S),
    re.compile(r'<a class="skip".*?</header>\n', re.S),
    re.compile(r"<p><a [^>]+>Registry</a>.*\n"),
)
"""The parts of the frame: what a browser is told, what it loads, the navigation, and the links at the end."""
SYMBOL = re.compile(r'<(symbol|g) id="([\w-]+)".*</\1>\n')
CURRENT = re.compile(r' aria-current="page">([^<]+)')


def _read(site: Path, name: str) -> str:
    return (site / PAGES[name]).read_text(encoding="utf-8")


def _anywhere(part: str) -> str:
    """A part of the frame as every page has it: for no folder, and without the place of this page."""
    return CURRENT.sub(r">\1", part).replace("../", "")


@pytest.fixture(scope="session")
def frame(site: Path) -> tuple[str, ...]:
    """The frame, part by part, as the front page has it."""
    front = _read(site, "front.html")
    return tuple(_anywhere(found[0]) for part in FRAME if (found := part.search(front)))


def _own(page: str, frame: tuple[str, ...]) -> str:
    """A page without what other pages have, too."""
    for pattern, part in zip(FRAME, frame, strict=True):
        found = pattern.search(page)
        if found and _anywhere(found[0]) == part:
            # Each address has to lead from the page's folder to the top.
            tops = {address.removesuffix(plain) for address, plain in _addresses(found[0], part)}
            mark = " ".join(["frame", *sorted(tops), *CURRENT.findall(found[0])])
            page = f"{page[: found.start()]}<!-- {mark.strip()} -->\n{page[found.end() :]}"
    return SYMBOL.sub(r'<\1 id="\2">\n', page)


def _addresses(part: str, plain: str) -> list[tuple[str, str]]:
    return list(zip(*(re.findall(r'(?:href|src)="([^"#]+)"', text) for text in (part, plain)), strict=True))


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, site: Path, frame: tuple[str, ...], golden: Callable[[str, str], None]) -> None:
    golden(name, _own(_read(site, name), frame))


def test_frame(frame: tuple[str, ...], golden: Callable[[str, str], None]) -> None:
    golden("frame.html", "".join(frame))


def test_icons(site: Path, golden: Callable[[str, str], None]) -> None:
    drawn = {found[2]: found[0] for name in PAGES for found in SYMBOL.finditer(_read(site, name))}
    golden("icons.html", "".join(drawn[icon] for icon in sorted(drawn)))


def test_step_summary(sampled: Sample, golden: Callable[[str, str], None]) -> None:
    golden("summary.md", step_summary(sampled.verdicts, sampled.registry))
