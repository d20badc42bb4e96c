"""The matrices of operators: the worst counts, every device is named, and nothing is called native that was not."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.sample import DEVICES
from unit.render.sample_operators import DEVICES as TESTED
from unit.render.sample_operators import FORWARD, NAMES

from ootci.history.operators import OperatorState
from ootci.stages.render.pages.operators import STATES

MATRIX = "operators/index.html"
NONE = "\N{EN DASH}"


def row(table: Element, name: str) -> list[str]:
    """The cells of the row of that name."""
    found = [item for item in table.one("tbody").find("tr") if item.find("th")[0].text == name]
    assert len(found) == 1, name
    return [cell.text for cell in found[0].find("td")]


def heads(table: Element) -> list[str]:
    return [item.text for item in table.one("thead").find("th")]


@pytest.fixture
def tables(site: Path) -> list[Element]:
    return read(site / MATRIX).find("table")


@pytest.mark.parametrize(
    ("operator", "cells"),
    [
        ("mm", ["Native", "Passed", "Unsupported"]),
        ("erfinv", ["Fallback", "Passed", "Unsupported"]),
        ("linalg.qr", ["Fallback", "Passed", "Unsupported"]),
        ("cumsum", ["Native", "Mismatch", "Unsupported"]),
        ("fft.rfft", ["Native", "Crash", "Unsupported"]),
    ],
)
def test_a_cell_is_the_worst_of_an_operator(tables: list[Element], operator: str, cells: list[str]) -> None:
    assert heads(tables[1]) == ["Operator", "OpenReg", "Jasper DSP", "Ember X1"]
    assert row(tables[1], operator) == cells


def test_every_device_is_counted_or_says_why_it_is_not(tables: list[Element]) -> None:
    summary = tables[0]
    assert len(summary.one("tbody").find("tr")) == len(DEVICES)
    assert heads(summary) == [
        *("Device", "Share of operators"),
        *("Native", "Passed", "Fallback", "Unsupported", "Mismatch", "Crash"),
    ]
    assert row(summary, "OpenReg") == ["", "7", NONE, "2", NONE, NONE, NONE]
    assert row(summary, "Jasper DSP") == ["", NONE, "7", NONE, NONE, "1", "1"]
    assert row(summary, "Cobalt Tensor Card") == ["", "OK the run has no suite ops"]
    assert row(summary, "Dune NPU") == ["", "BUILD BROKEN the run has no suite ops"]
    assert row(summary, "Fjord 400") == ["", "NO DATA no run"]


def test_a_bar_has_every_operator_of_a_device_and_the_matrix_begins_with_the_worst(tables: list[Element]) -> None:
    bars = {item.one("th").text: item.find("rect") for item in tables[0].one("tbody").find("tr")}
    shown = [(part.attributes["class"], part.attributes["x"], part.attributes["width"]) for part in bars["Jasper DSP"]]
    assert shown == [("p", "0.0", "77.8"), ("m", "77.8", "11.1"), ("c", "88.9", "11.1")]
    assert bars["Fjord 400"] == []
    bad = [sum(cell in ("Mismatch", "Crash") for cell in row_of) for row_of in _rows(tables[1])]
    assert bad == sorted(bad, reverse=True)
    assert bad[0] > 0


def _rows(table: Element) -> list[list[str]]:
    return [[cell.text for cell in item.find("td")] for item in table.one("tbody").find("tr")]


def test_a_device_says_what_its_tests_said(site: Path) -> None:
    table = read(site / "operators" / "ember" / "index.html").one("table")
    kinds = ["backward float32", "out float32", "errors", "Messages of the tests"]
    assert heads(table) == ["Operator", *(f"forward {dtype}" for dtype in FORWARD), *kinds]
    assert len(table.one("tbody").find("tr")) == len(NAMES)
    assert row(table, "bernoulli")[:2] == ["Passed", "Passed"]
    # It has no forward test in complex64 that was not refused, none with `out=`, and the cpu refuses no call.
    assert row(table, "bernoulli")[2:7] == ["Unsupported", "Passed", "Passed", "", "Reference"]
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
