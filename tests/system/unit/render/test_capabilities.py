"""The matrix: a row for every device, silent ones included, and a cell that says what it counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.sample_runs import CAPABILITIES


@pytest.fixture
def matrix(site: Path) -> Element:
    return read(site / "capabilities" / "index.html").one("table")


def cells(matrix: Element, device: str) -> list[str]:
    names = [header.text for header in matrix.one("thead").find("th")[1:]]
    assert set(CAPABILITIES) < set(names)
    row = next(row for row in matrix.one("tbody").find("tr") if row.find("th")[0].text == device)
    found = [cell.text for cell in row.find("td")]
    return found if len(found) == 1 else [text for name, text in zip(names, found, strict=True) if name == "views"]


@pytest.mark.parametrize(
    ("device", "cell"),
    [
        ("OpenReg", "works 10/10"),
        ("Borealis B2", "3 failing 7/10"),
        ("Lumen Photonic", "1 by a defect of PyTorch 9/10"),
        ("Marble S", "8 not run 2/10"),
        ("Fjord 400", "NO DATA no test reported"),
        ("Dune NPU", "BUILD BROKEN no test reported"),
        ("Halo Edge", "PAUSED no test reported"),
    ],
)
def test_a_cell_says_what_became_of_the_tests(matrix: Element, device: str, cell: str) -> None:
    assert cells(matrix, device) == [cell]
