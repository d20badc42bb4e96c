"""The page of models: tests passed, throughput beside the CPU's and peak memory, per device; the same in the API."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from unit.render.pages import content, read
from unit.samples import device, night, plan, run

from ootci.history.gc import MEASURES_RUNS, old_details, remove
from ootci.history.store import History
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.training import Training
from ootci.stages.judge import judge
from ootci.stages.render import render

TRAINED = Training(steps_per_second=1250.0, times_the_cpu=0.25, peak_bytes=3 << 20)


def model_tests(training: Training | None = TRAINED) -> tuple[Outcome, ...]:
    def test(name: str, model: str, outcome: OutcomeName, training: Training | None = None) -> Outcome:
        test_id = f"models/test_models.py::test_{name}[{model}]"
        return Outcome(id=test_id, suite="models", outcome=outcome, training=training)

    return (
        test("training", "cnn", OutcomeName.PASSED, training),
        test("inference", "cnn", OutcomeName.PASSED),
        test("compiled_training", "cnn", OutcomeName.FAILED),
        test("training_on_two_cards", "cnn", OutcomeName.SKIPPED),
        test("training", "lstm", OutcomeName.UNSUPPORTED),
    )


def site_of(folder: Path, history: History, number: int) -> Path:
    registry = tuple(map(device, ("dev", "other", "third")))
    render(registry, history, judge(registry, history, night(number) + timedelta(hours=2)), folder / "site")
    return folder / "site"


def rows(site: Path) -> list[list[str]]:
    return read(site / "models" / "index.html").one("main").cells


def history_of(folder: Path, nights: int) -> History:
    """Two devices train models on the first night only; the third never does, and the second counts no memory."""
    history = History(folder / "history")
    own = {"dev": model_tests(), "other": model_tests(Training(steps_per_second=10.0, times_the_cpu=2.0)), "third": ()}
    for number in range(nights):
        history.append_plan(plan(number, tuple(own)))
        for name, more in own.items():
            reported = run(number, name)
            outcomes = (*reported.outcomes, *more) if number == 0 else reported.outcomes
            history.append_run(reported.model_copy(update={"outcomes": outcomes}))
    return history


def test_throughput_and_memory_are_shown_per_device_on_the_newest_night_with_models(tmp_path: Path) -> None:
    site = site_of(tmp_path, history_of(tmp_path, 2), 1)
    day = f"{night(0):%Y-%m-%d}"
    unknown = ["0", "0", "1", "not measured", "not measured", "not measured", day]
    assert rows(site) == [
        ["cnn", "Dev", "2", "1", "1", "1,250.0", "0.25", "3.00", day],
        ["lstm", "Dev", *unknown],
        ["cnn", "Other", "2", "1", "1", "10.0", "2.00", "not counted", day],
        ["lstm", "Other", *unknown],
    ]


def test_a_devices_page_says_how_its_models_did(tmp_path: Path) -> None:
    site = site_of(tmp_path, history_of(tmp_path, 2), 1)
    pages = {name: read(site / "d" / name / "index.html") for name in ("dev", "third")}
    (shown,) = (part for part in pages["dev"].find("section") if part.attributes.get("aria-labelledby") == "models")
    assert shown.one("p").text == (
        "2 small models, 2 tests passed, 1 failed; trained at 0.25 times the speed of one CPU thread: speed and memory"
    )
    assert not pages["third"].find("h2", id="models")


def test_the_file_has_what_the_page_shows(tmp_path: Path) -> None:
    site = site_of(tmp_path, history_of(tmp_path, 1), 0)
    found = content(site / "api" / "v1" / "models.json")
    assert [item["device"] for item in found["devices"]] == ["dev", "other"]
    assert found["devices"][0]["models"][0] == {
        "model": "cnn",
        "passed": 2,
        "failed": 1,
        "other": 1,
        "training": {"steps_per_second": 1250.0, "times_the_cpu": 0.25, "peak_bytes": 3 << 20},
    }
    where = site / "api" / "v1" / found["devices"][0]["run_page"]
    assert where.resolve().is_file()
    assert (site / "api" / "v1" / found["page"]).resolve() == (site / "models" / "index.html").resolve()


def test_measurements_that_are_not_kept_any_more_are_no_zeros(tmp_path: Path) -> None:
    history = history_of(tmp_path, MEASURES_RUNS + 1)
    remove(old_details(history), history.folder)
    found = rows(site_of(tmp_path, history, MEASURES_RUNS))
    assert [row[2:8] for row in found[:1]] == [["2", "1", "1", *["not measured"] * 3]]


def test_without_a_model_the_page_names_the_suite(tmp_path: Path) -> None:
    history = History(tmp_path / "history")
    history.append_plan(plan())
    history.append_run(run())
    page = read(site_of(tmp_path, history, 0) / "models" / "index.html").one("main")
    assert "No device ran a model yet" in page.text
