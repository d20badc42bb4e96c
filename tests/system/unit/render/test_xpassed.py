"""A test that passed although it was expected to fail is named as that, and nowhere as one that failed as expected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unit.render.pages import Element, content, read
from unit.render.rendering import judged_pages
from unit.samples import changed, nights, run

from ootci.model.run import CapabilityCounts


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of one device with one such test of two, both of one capability."""
    folder = tmp_path_factory.mktemp("xpassed")
    found = run(integration={"two": "passed", "three": "xpassed"})
    found = changed(found, lambda item: item.suite == "integration", capability="views")
    found = found.model_copy(update={"capabilities": CapabilityCounts.of(found.outcomes)})
    return judged_pages(folder, *nights(found))


def _row(page: Element, name: str) -> str:
    (row,) = (row for row in page.find("tr") if row.find("th") and row.find("th")[0].text == name)
    return row.text


def test_the_device_s_page_counts_and_lists_it(rendered: Path) -> None:
    page = read(rendered / "d" / "dev" / "index.html").one("main")
    (meter,) = (row for row in page.one("ul", class_="meters").find("li") if row.one("bdi").text == "views")
    assert meter.text.endswith("1/2 part: 1 of 2 1 xpassed")
    (listed,) = (item for item in page.find("details") if item.one("summary").text.startswith("xpassed"))
    assert "test_x.py::three" in listed.text


def test_the_matrix_s_cell_is_not_green_and_names_it(rendered: Path) -> None:
    page = rendered / "capabilities" / "index.html"
    assert "part: 1 of 2" in _row(read(page), "Dev")
    assert "1 passed, 1 xpassed" in page.read_text(encoding="utf-8")


def test_no_page_and_no_file_counts_it_among_expected_failures(rendered: Path) -> None:
    counted = 0
    for path in (path for path in rendered.rglob("*") if path.suffix in (".html", ".json", ".xml", ".md")):
        text = path.read_text(encoding="utf-8")
        if "schema" in path.parts:
            continue
        said = text.replace("</svg>expected failure</li>", "")  # the legend of a test's nights
        assert not re.search(r"[1-9]\d* xfailed|expected failure|failed as expected", said), path
        counted += text.count('"xpassed":1') + text.count('"xpassed": 1')
        assert not re.search(r'"xfailed": ?[1-9]', text), path
    assert counted
    (verdict,) = content(rendered / "api" / "v1" / "verdicts.json")["devices"]
    assert verdict["reason"] == "2 of 3 tests passed"
