"""The matrices of operators: the worst counts, every device is named, and nothing is called native that was not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.sample import DEVICES
from unit.render.sample_operators import DEVICES as TESTED
from unit.render.sample_operators import FORWARD, NAMES

from ootci.history.operators import OperatorState
from ootci.resources import dashboard_folder
from ootci.stages.render.pages.operators import STATES


def row(table: Element, name: str) -> list[str]:
    """The cells of the row of that name."""
    found = [item for item in table.one("tbody").find("tr") if item.find("th")[0].text == name]
    assert len(found) == 1, name
    return [cell.text for cell in found[0].find("td")]


def heads(table: Element) -> list[str]:
    return [item.text for item in table.one("thead").find("th")]


def test_a_device_says_what_its_tests_said(site: Path) -> None:
    table = read(site / "operators" / "ember" / "index.html").one("table")
    kinds = ["backward float32", "out float32", "errors", "Messages of the tests"]
    assert heads(table) == ["Operator", *(f"forward {dtype}" for dtype in FORWARD), *kinds]
    assert len(table.one("tbody").find("tr")) == len(NAMES)
    assert row(table, "bernoulli")[:2] == ["P", "P"]
    # It has no forward test in complex64 that was not refused, none with `out=`, and the cpu refuses no call.
    assert row(table, "bernoulli")[2:7] == ["U", "P", "P", "", "R"]
    said = row(table, "linalg.qr")[-1]
    assert "the device raised NotImplementedError: Could not run 'aten::linalg.qr'" in said
    assert "2 of 3 samples" not in said


@pytest.mark.parametrize("device", [item.name for item in DEVICES])
def test_every_device_has_a_page_that_its_own_page_leads_to(site: Path, device: str) -> None:
    page = read(site / "operators" / device / "index.html")
    assert bool(page.find("table")) == (device in TESTED)
    assert ("No test of single operators" in page.text) == (device not in TESTED)
    links = [link.attributes["href"] for link in read(site / "d" / device / "index.html").find("a")]
    assert f"../../operators/{device}/index.html" in links


def test_letters_stand_for_one_state_each() -> None:
    assert set(STATES) == set(OperatorState)
    assert len({shown.key for shown in STATES.values()}) == len(STATES)
    style = (dashboard_folder() / "static" / "operators.css").read_text(encoding="utf-8")
    spoken = dict(re.findall(r'\.ops \.([a-z])::after { content: "(.*)"; }', style))
    assert {key.upper() + rest for key, rest in spoken.items()} == {item.word for item in STATES.values()}
