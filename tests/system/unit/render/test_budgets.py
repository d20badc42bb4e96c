"""What a page may weigh."""

from __future__ import annotations

import gzip
from pathlib import Path

from unit.render.sample import Sample, registered
from unit.render.sample_clusters import ALIKE, SPELLS
from unit.render.sample_runs import NIGHTS, run

from ootci.history.store import History
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.verdict import Change, ChangeName, VerdictName
from ootci.stages.render import render

FRONT = 60 * 1024
DEVICE = 200 * 1024
STYLE = 12 * 1024


def test_front_page_with_fifty_devices(sampled: Sample, tmp_path: Path) -> None:
    registry, devices = [], []
    for number in range(50):
        item = sampled.registry[number % 15].device.model_copy(update={"name": f"device{number}"})
        registry.append(registered(item))
        devices.append(sampled.verdicts.devices[number % 15].model_copy(update={"device": item.name}))
    verdicts = sampled.verdicts.model_copy(update={"devices": tuple(devices)})
    render(tuple(registry), History(tmp_path / "none"), verdicts, tmp_path / "site")
    assert len(gzip.compress((tmp_path / "site" / "index.html").read_bytes())) < FRONT


def test_device_page_with_ten_thousand_failures(sampled: Sample, tmp_path: Path) -> None:
    honest = run("cobalt", NIGHTS - 1, VerdictName.REGRESSED)
    outcomes = tuple(
        Outcome(
            id=f"integration/test_everything.py::test_{number:05d}[some-parameters-of-the-test]",
            suite="integration",
            outcome=(OutcomeName.FAILED, OutcomeName.FAILED, OutcomeName.NOT_RUN, OutcomeName.SKIPPED)[number % 4],
            capability=f"capability_{number % 30}",
            message="AssertionError: " + "values differ, " * 30,
            text="E   values differ\n" * (1000 if number < 200 else 2),
        )
        for number in range(20_000)
    )
    changes = tuple(
        Change(id=item.id, change=ChangeName.REGRESSION, after=item.outcome, signature=ALIKE.id, spell=1)
        for item in outcomes
    )
    history = History(tmp_path / "history")
    history.append_plan(sampled.history.plans()[-1])
    history.append_run(honest.model_copy(update={"outcomes": outcomes}))
    verdict = sampled.verdicts.devices[2].model_copy(update={"changes": changes, "spells": SPELLS, "run_id": honest.id})
    verdicts = sampled.verdicts.model_copy(update={"devices": (verdict,)})
    render(sampled.registry[2:3], history, verdicts, tmp_path / "site")
    pages = list((tmp_path / "site" / "d").rglob("*.html"))
    assert len(pages) == 3
    for page in pages:
        assert page.stat().st_size < DEVICE, page
    text = pages[0].read_text(encoding="utf-8")
    assert "more tests not named here" in text


def test_style_sheet(site: Path) -> None:
    assert (site / "static" / "style.css").stat().st_size < STYLE
