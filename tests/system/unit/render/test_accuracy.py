"""The pages of errors: in short on a device's own, those of all devices, and the regressions of a nightly."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from unit.render.pages import content, read
from unit.render.sample_operators import MEASURED, NAMES
from unit.render.sample_runs import FIRST_NIGHT, plan_id

from ootci.history.accuracy import AccuracyRegression
from ootci.model.accuracy import Accuracy
from ootci.stages.render.pages.accuracy import (
    DeviceAccuracyFile,
    DeviceErrors,
    OperatorAccuracy,
    errors_in_short,
    operator_regressions,
    regressions_by_nightly,
)
from ootci.stages.render.words import ulp_words


def test_a_device_s_page_names_its_accuracy_regressions(site: Path) -> None:
    device = read(site / "d" / "jasper" / "index.html").one("section", aria_labelledby="accuracy")
    assert "accuracy regression cumsum float16, from 0.5 to ∞ ulp" in device.text
    assert "1 more accuracy regression" in device.text
    assert device.find("a")[-1].attributes["href"] == "accuracy/index.html"


def test_a_device_without_measured_errors_says_so(site: Path) -> None:
    assert "No error was measured." in read(site / "d" / "indigo" / "accuracy" / "index.html").text
    assert content(site / "api/v1/accuracy/indigo.json")["operators"] == []
    assert not read(site / "d" / "indigo" / "index.html").find("section", aria_labelledby="accuracy")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (0.0, "0"),
        (0.5, "0.5"),
        (0.0042, "0.0042"),
        (9.9, "9.9"),
        (37.0, "37"),
        (130_000.0, "130,000"),
        (1.3e8, "1.3e8"),
        (1e300, "1.0e300"),
        (None, "∞"),
        (float("inf"), "∞"),
    ],
)
def test_errors_are_short(error: float | None, words: str) -> None:
    assert ulp_words(error) == words


def test_the_page_of_all_devices_names_the_worst_error_and_every_regression_with_its_devices(site: Path) -> None:
    page = read(site / "accuracy" / "index.html").one("main")
    short = page.find("table")[0].cells
    names = {row[0]: row[1:] for row in short}
    assert names["Jasper DSP"][-1] == "cumsum float16: ∞ ulp, the CPU's 0.5"
    assert names["OpenReg"][1:] == [str(len(NAMES) * len(MEASURED)), "0", "0", "none larger than the CPU's"]
    assert "Indigo" not in names
    found = {(row[0], row[1]): row[2] for row in page.find("table")[1].cells}
    assert len(found) == 2 * len(MEASURED) == int(names["Jasper DSP"][3])
    assert found["erfinv", "float32"].startswith("Jasper DSP 1.8 → 84 since ")
    file = content(site / "api" / "v1" / "accuracy.json")
    assert [item["path"] for item in file["devices"]] == [f"accuracy/{item['device']}.json" for item in file["devices"]]
    assert len(file["regressions"]) == len(found)


def test_the_night_on_which_accuracy_regressions_began_names_them_and_so_do_feeds(site: Path) -> None:
    night = read(site / "n" / plan_id(3) / "index.html")
    assert len(night.one("section", aria_labelledby="accuracy").cells) == 2 * len(MEASURED)
    assert not read(site / "n" / plan_id(4) / "index.html").find("section", aria_labelledby="accuracy")
    for feed in (site / "feed.xml", site / "d" / "jasper" / "feed.xml"):
        assert "Accuracy regressions on Jasper DSP: cumsum float16 and 3 others" in feed.read_text(encoding="utf-8")
    assert "Accuracy regression" not in (site / "d" / "openreg" / "feed.xml").read_text(encoding="utf-8")


def test_the_regression_of_most_devices_comes_first() -> None:
    def errors(device: str, **since: int) -> DeviceErrors:
        found = [
            OperatorAccuracy(
                operator=name,
                dtype="float32",
                errors=Accuracy(results=9, device_largest=8.0, device_typical=1.0, cpu_largest=1.0, cpu_typical=0.5),
                regression=AccuracyRegression(
                    since=FIRST_NIGHT.date() + timedelta(days=night), plan_id=plan_id(night), before=1.0
                ),
            )
            for name, night in since.items()
        ]
        file = DeviceAccuracyFile(
            device=device, page="p", night=FIRST_NIGHT.date(), run_page=None, nights=5, operators=tuple(found), more=0
        )
        short = errors_in_short(file)
        assert short is not None
        return short

    devices = [errors("a", mm=3, sin=5), errors("b", sin=5, mm=4), errors("c", sin=4)]
    assert [[on.device for on in error.devices] for error in operator_regressions(devices)] == [
        ["a", "b", "c"],
        ["b", "a"],
    ]
    found = regressions_by_nightly(operator_regressions(devices))
    assert {night: [(error.operator, len(error.devices)) for error in found[night]] for night in found} == {
        plan_id(3): [("mm", 1)],
        plan_id(4): [("mm", 1), ("sin", 1)],
        plan_id(5): [("sin", 2)],
    }
