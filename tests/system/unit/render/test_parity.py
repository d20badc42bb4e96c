"""The pages of PyTorch's own tests: numbers that add up, the worst first, and nothing red that never passed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from unit.render.pages import content, read
from unit.render.rendering import judged_pages
from unit.samples import device, night
from unit.upstream_nights import upstream_nights

from ootci.history.parity import Parity
from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run
from ootci.stages.render.badge import COLOURS, parity_badge

NIGHTS = 9
LETTERS = {
    "test_views.py::import": "p" * NIGHTS,
    "test_views.py::TestViews::test_one": "p" * NIGHTS,
    "test_views.py::TestViews::test_two": "f" * 4 + "p" * 5,
    "test_views.py::TestMore::test_cuda": "s" * NIGHTS,
    "nn/test_rnn.py::TestRNN::test_broke": "p" * 8 + "f",
    "nn/test_rnn.py::TestRNN::test_never": "f" * NIGHTS,
    "nn/test_rnn.py::TestRNN::test_once": "f" * 4 + "p" + "f" * 4,
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Two devices, of which one runs PyTorch's own tests."""
    return judged_pages(tmp_path, *upstream_nights(LETTERS), registry=(device(), device("other")))


def _counts(**counts: int) -> Mapping[str, int]:
    return {"asked": 0, "passed": 0, "regressed": 0, "sometimes": 0, "not_yet": 0, "left_out": 0} | counts


def test_the_numbers_of_a_device(site: Path) -> None:
    (row,) = content(site / "api/v1" / "parity.json")["devices"]
    assert row["counts"] == _counts(asked=6, passed=3, regressed=1, sometimes=1, not_yet=1, left_out=1)
    assert (row["device"], row["week_before"]) == ("dev", 3)
    assert row["week_day"] == f"{night(1):%Y-%m-%d}"
    own = content(site / "api/v1" / "parity/dev.json")
    assert own["regressed"] == ["upstream/nn/test_rnn.py::TestRNN::test_broke"]
    assert [item["counts"]["passed"] for item in own["nights"]] == [3, 3, 3, 3, 5, 4, 4, 4, 3]
    assert {item["file"]: item["counts"] for item in own["files"]} == {
        "nn/test_rnn.py": _counts(asked=3, regressed=1, sometimes=1, not_yet=1),
        "test_views.py": _counts(asked=3, passed=3, left_out=1),
    }
    assert [(item["name"], item["counts"]["asked"]) for item in own["files"][1]["classes"]] == [
        ("TestMore", 0),
        ("TestViews", 2),
    ]
    for name, whole in row["counts"].items():
        assert sum(item["counts"][name] for item in own["files"]) == whole, name


def _compared(folder: Path, letters: str, *, without: Iterable[int] = (), cut: int | None = None) -> Any:
    records: list[Plan | Run] = []
    for record in upstream_nights({"test_a.py::TestA::test_one": letters, "test_a.py::TestA::test_two": letters}):
        number = int(re.findall(r"night(\d+)", record.id)[0])
        if number in without:
            continue
        if number == cut and isinstance(record, Run):
            suites = (report.model_copy(update={"state": ReportState.TRUNCATED}) for report in record.suites)
            record = record.model_copy(update={"suites": tuple(suites)})
        records.append(record)
    (row,) = content(judged_pages(folder, *records) / "api/v1" / "parity.json")["devices"]
    return row["week_before"], row["week_day"]


def test_a_week_is_told_by_its_day_and_only_whole_nights_are_compared(tmp_path: Path) -> None:
    letters = "f" * 5 + "p" * 15
    for name, keys, number in (
        ("all", {}, 12),
        ("missing", {"without": (12, 11)}, 10),
        ("cut", {"cut": 12}, 11),
        ("cut tonight", {"cut": 19}, None),
        ("long missing", {"without": range(6, 13)}, None),
    ):
        day = f"{night(number):%Y-%m-%d}" if number is not None else None
        assert _compared(tmp_path / name, letters, **keys) == (2 if day else None, day), name


def test_a_night_that_broke_before_the_tests_takes_no_page_away(tmp_path: Path) -> None:
    assert _compared(tmp_path, "p" * 9 + ".") == (2, f"{night(1):%Y-%m-%d}")
    (row,) = content(tmp_path / "site" / "api/v1" / "parity.json")["devices"]
    assert (row["counts"]["passed"], row["day"]) == (2, f"{night(8):%Y-%m-%d}")
    assert f"on {night(8):%Y-%m-%d}" in read(tmp_path / "site" / "parity" / "dev" / "index.html").text


def test_the_heat_map_has_a_cell_for_each_file(site: Path) -> None:
    page = read(site / "parity" / "index.html")
    rows = page.one("table", class_="heat").one("tbody").find("tr")
    assert [row.text for row in rows] == ["nn/test_rnn.py 0/3 1", "test_views.py 3/3"]
    assert ["data-fine" in row.attributes for row in rows] == [False, True]
    assert "50.0 %" in page.text


def test_a_device_begins_with_what_regressed(site: Path) -> None:
    page = read(site / "parity" / "dev" / "index.html")
    assert page.one("ul", class_="tests").text == "upstream/nn/test_rnn.py::TestRNN::test_broke"
    rows = page.one("table", class_="files").one("tbody").find("tr")
    assert [row.find("th")[0].text.split()[0] for row in rows] == ["nn/test_rnn.py", "test_views.py"]
    assert "±0 since" in page.text
    assert "The import of a file counts as one of its tests" in page.text


def test_what_never_passed_is_counted_and_not_listed(site: Path) -> None:
    page = read(site / "d" / "dev" / "index.html")
    assert "2 tests of PyTorch's own fail and do not pass on this device yet" in page.text
    assert "test_broke" in page.text
    assert "test_never" not in page.text
    assert "test_once" not in page.text
    assert not list(site.glob("parity/other/*"))


def test_a_badge_says_how_many_pass_and_is_red_for_a_regression_only(site: Path) -> None:
    found = content(site / "badge" / "dev-parity.json")
    assert (found["message"], found["color"]) == ("50.0 % of 6 · 1 regressed", COLOURS["bad"])
    assert not (site / "badge" / "other-parity.json").exists()
    snippets = read(site / "badge" / "index.html").one("tbody", id="dev").find("input")
    assert any("/badge/dev-parity.svg" in snippet.attributes["value"] for snippet in snippets)
    sound = Parity(asked=3, passed=1, regressed=0, sometimes=0, not_yet=2, left_out=0)
    assert parity_badge(device().device, sound).colour == COLOURS["good"]
