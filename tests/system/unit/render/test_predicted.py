"""What is predicted stands beside what was measured, in words and looks of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.rendering import Rendered
from unit.render.sample_clusters import COMMITS, COMMITS_URL
from unit.render.sample_predicted import COMMIT, COMPILE_ERROR, FAILS, HOOKS, PREDICTED

from ootci.model.compat import Forecast, Predicted

RANGE = f"gone between 2.15.0.dev20261116+cpu and 2.15.0.dev, PyTorch {COMMITS}"


@pytest.fixture(scope="module")
def front(site: Path) -> Element:
    return read(site / "index.html")


@pytest.fixture(scope="module")
def page(site: Path) -> Element:
    return read(site / "compat" / "index.html")


def row_of(page: Element, device: str) -> Element:
    return page.one("li", class_="row", id=device)


@pytest.mark.parametrize(("device", "verdict"), [("dune", "BUILD BROKEN"), ("indigo", "NEVER RAN"), ("halo", "PAUSED")])
def test_the_front_page_has_both_states_of_a_device(front: Element, device: str, verdict: str) -> None:
    row = row_of(front, device)
    assert row.one("p", class_="result").one("strong").text == verdict
    link = row.one("p", class_="cause").one("a", class_="forecast")
    assert (link.text, link.attributes["href"]) == ("break predicted", f"d/{device}/index.html#predicted")
    assert "breaks" in link.attributes["class"]


@pytest.mark.parametrize("device", ["openreg", "lumen", "fjord", "opal"])
def test_the_front_page_is_silent_where_no_break_is_predicted(front: Element, device: str) -> None:
    """Nothing public to check, no break found, cannot be checked, nothing looked at."""
    assert not row_of(front, device).find("a", class_="forecast")


def test_only_a_paused_device_is_in_the_group_of_predictions(front: Element) -> None:
    group = front.one("section", class_="group", id="predicted-to-break-while-paused")
    assert [row.attributes["id"] for row in group.find("li", class_="row")] == ["halo"]
    assert group.one("h3").one("i").attributes["class"] == "dot n-predicted"
    said = group.one("span", class_="reason").text
    assert said == f"binary: 1 of 1,498 symbols gone · {FAILS.why} since 2026-11-18 · last measured: 2026-11-13"


def test_without_predictions_the_front_page_has_none(rendered: Rendered) -> None:
    shown = rendered(predicted=None)
    front = read(shown / "index.html")
    assert not front.find("a", class_="forecast")
    assert [row.attributes["id"] for row in front.one("details", id="paused").find("li", class_="row")] == ["halo"]
    assert read(shown / "compat" / "index.html").one("section", class_="empty")
    assert not read(shown / "d" / "halo" / "index.html").find("h2", id="predicted")


def test_every_device_and_torch_has_a_cell(page: Element) -> None:
    table = page.find("table")[0]
    assert [cell.text for cell in table.one("thead").find("th")[1:3]] == [
        f"torch {torch.version}" for torch in PREDICTED.torches
    ]
    *checked, without = table.one("tbody").find("tr")
    rows = {row.one("th").text: [cell.text for cell in row.find("td")] for row in checked}
    assert rows["Halo Edge"][:3] == [
        f"break predicted binary: 1 of 1,498 symbols gone · {FAILS.why}",
        "no break found",
        "2026-11-18",
    ]
    assert rows["Dune NPU"][4] == "2.14.1+cpu guessed"
    assert rows["Fjord 400"][0].startswith("cannot be checked torch-fjord cannot be downloaded")
    (nothing,) = (item for item in PREDICTED.devices if item.nightly.forecast is Forecast.NOTHING)
    assert without.one("summary").text == "Nothing public to check 1"
    assert [item.text for item in without.find("li")] == [f"OpenReg {nothing.nightly.why}"]
    assert len(rows) == len(PREDICTED.devices) - 1


def test_one_change_that_breaks_several_plugins_is_one_row(page: Element) -> None:
    first, second, third = page.find("table")[1].one("tbody").find("tr")
    cells = [cell.text for cell in first.find("td")]
    assert cells[0] == "symbol at::detail::hooks() used in c10/core/Hooks.h"
    assert cells[1:3] == ["3", "Halo Edge , Indigo Q , Kestrel"]
    assert cells[3:5] == ["2026-11-18 2.15.0.dev", "2.15.0.dev20261116+cpu"]
    assert first.one("a", rel="noreferrer").attributes["href"].startswith("https://github.com/pytorch/pytorch/compare/")
    assert [cell.text for cell in second.find("td")][3:5] == ["2026-11-20 or earlier, 2.15.0.dev", "\u2013"]
    assert [cell.text for cell in third.find("td")][:5] == [
        f"compile error {COMPILE_ERROR.text}",
        "1",
        "Halo Edge",
        "2026-11-18 2.15.0.dev",
        "2.15.0.dev20261116+cpu",
    ]


def test_a_device_s_page_names_what_is_missing_and_where_it_is_needed(site: Path) -> None:
    device = read(site / "d" / "indigo" / "index.html")
    section = device.one("section", aria_labelledby="predicted")
    rows = [[cell.text for cell in row.find("td")] for row in section.one("tbody").find("tr")]
    assert rows[0][1] == f"{HOOKS.text} used in {HOOKS.header} {RANGE}"
    assert rows[1][1:] == ["torch.utils.gone.helper gone since 2.15.0.dev or earlier", "torch_indigo/ops.py:12"]
    assert section.one("tbody").one("a", rel="noreferrer").attributes["href"] == COMMITS_URL
    assert "A prediction is not a test result." in section.text
    assert "break predicted binary: 1 of 1,498 symbols gone · Python: 1 of 1,096 names gone · since" in section.text


def test_a_device_s_page_has_the_compile_error_with_its_place_and_since_when(site: Path) -> None:
    section = read(site / "d" / "halo" / "index.html").one("section", aria_labelledby="predicted")
    row = [cell.text for cell in section.one("tbody").find("tr")[0].find("td")]
    kind, error, place = row
    assert (kind, place) == ("compile error", "csrc/Hooks.cpp:12")
    assert error == f"{COMPILE_ERROR.text} {RANGE.replace('gone', 'new')}"
    assert f"Its source was compiled, not tested, at commit {COMMIT} ." in section.text
    assert "Note: its source compiles on torch 2.14.1+cpu" in section.text
    lumen = read(site / "d" / "lumen" / "index.html").one("section", aria_labelledby="predicted").text
    assert f"12 overloads · source compiles (commit {COMMIT[:10]})" in lumen


def test_a_measured_break_of_the_import_is_explained_by_the_symbol(site: Path) -> None:
    said = read(site / "d" / "kestrel" / "index.html").one("section", aria_labelledby="verdict").text
    assert f"Predicted : this torch lacks {HOOKS.text}" in said
    assert f"which the plugin's public wheel needs: {RANGE}" in said
    assert "Predicted" not in read(site / "d" / "halo" / "index.html").one("section", aria_labelledby="verdict").text


def test_predictions_of_an_earlier_nightly_say_so(rendered: Rendered) -> None:
    earlier = PREDICTED.model_copy(update={"plan_id": "20261119-0410-aaaa"})
    text = read(rendered(predicted=earlier) / "compat" / "index.html").one("main").text
    assert "of the earlier nightly 20261119-0410-aaaa" in text


def test_programs_get_the_same(site: Path) -> None:
    api = site / "api" / "v1"
    found = json.loads((api / "compat.json").read_text(encoding="utf-8"))
    assert Predicted.model_validate(found["predicted"]) == PREDICTED
    devices = json.loads((api / "devices.json").read_text(encoding="utf-8"))["devices"]
    forecasts = {item["device"]: item["predicted"] for item in devices}
    assert (forecasts["halo"], forecasts["opal"]) == (Forecast.BREAK.value, None)


def test_what_a_wheel_says_is_shown_as_text_only(rendered: Rendered) -> None:
    evil = "<script>alert(1)</script>\x1b[31m"
    part = HOOKS.model_copy(update={"text": evil, "header": evil})
    item = PREDICTED.devices[3]
    finding = item.nightly.findings[0].model_copy(update={"text": evil, "needed_by": (evil,) * 5})
    source = FAILS.model_copy(update={"commit": evil})
    values = {"why": evil, "findings": (finding,), "notes": (evil,), "version": evil, "source": source}
    nightly = item.nightly.model_copy(update=values)
    one = PREDICTED.breaks[0].model_copy(update={"parts": (part,) * 5})
    device = item.model_copy(update={"predictions": (nightly, item.predictions[1])})
    shown = rendered(predicted=PREDICTED.model_copy(update={"devices": (device,), "breaks": (one,)}))
    for path in ("index.html", "compat/index.html", "d/halo/index.html"):
        page = (shown / path).read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert "\x1b" not in page
        assert "&lt;script&gt;alert(1)" in page


def test_the_page_of_symbols_has_who_needs_each_and_since_when(site: Path) -> None:
    page = read(site / "symbols" / "index.html")
    rows = [[cell.text for cell in row.find("td")] for row in page.one("tbody").find("tr")]
    assert rows == [
        [f"{HOOKS.text} missing {RANGE}", "symbol", "2", "Halo Edge , Kestrel", "2026-11-21"],
        ["c10::kept()", "symbol", "2", "Halo Edge , Indigo Q", "by 2026-11-16"],
        ["torch.utils.gone.helper missing gone since 2.15.0.dev or earlier", "name", "1", "Indigo Q", "2026-11-21"],
        ["aten::add.Tensor", "operator", "1", "Halo Edge", "by 2026-11-16"],
    ]
    assert page.one("table").attributes["data-filter"] == "parts"
    found = json.loads((site / "api" / "v1" / "symbols.json").read_text(encoding="utf-8"))
    assert found["first"] == "2026-11-16"
    assert found["parts"][0]["devices"] == {"halo": "2026-11-21", "kestrel": "2026-11-21"}
    assert found["parts"][0]["removal"]["commits"] == COMMITS
    assert "removal" not in found["parts"][1]


def test_without_predictions_nothing_is_needed_that_is_known_of(rendered: Rendered) -> None:
    assert read(rendered() / "symbols" / "index.html").one("section", class_="empty")
