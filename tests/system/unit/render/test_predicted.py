"""What is predicted stands beside what was measured, in words and looks of its own."""

from __future__ import annotations

from pathlib import Path

from unit.render.pages import content, read
from unit.render.rendering import Rendered
from unit.render.sample_clusters import COMMITS
from unit.render.sample_predicted import COMMIT, COMPILE_ERROR, FAILS, HOOKS, PREDICTED

from ootci.model.compat import Forecast

RANGE = f"gone between 2.15.0.dev20261116+cpu and 2.15.0.dev, PyTorch {COMMITS}"


def test_without_predictions_the_front_page_has_none(rendered: Rendered) -> None:
    shown = rendered(predicted=None)
    front = read(shown / "index.html")
    assert not front.find("a", class_="forecast")
    assert [row.attributes["id"] for row in front.one("details", id="paused").find("li", class_="row")] == ["halo"]
    assert read(shown / "compat" / "index.html").one("section", class_="empty")
    assert not read(shown / "d" / "halo" / "index.html").find("h2", id="predicted")


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


def test_programs_get_the_forecast_of_each_device(site: Path) -> None:
    devices = content(site / "api/v1/devices.json")["devices"]
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


def test_without_predictions_nothing_is_needed_that_is_known_of(rendered: Rendered) -> None:
    assert read(rendered() / "symbols" / "index.html").one("section", class_="empty")
