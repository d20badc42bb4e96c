"""What a page may weigh."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from random import Random

from unit.render.pages import read
from unit.render.rendering import Rendered
from unit.render.sample import Sample, registered
from unit.render.sample_clusters import ALIKE, STREAKS
from unit.render.sample_runs import NIGHTS, run

from ootci.history.operators import DTYPES, operators_of
from ootci.history.store import History
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.verdict import Change, ChangeName, VerdictName
from ootci.resources import dashboard_folder
from ootci.stages.render.page_maker import PageMaker
from ootci.stages.render.pages.operators import (
    STATES,
    DeviceCoverage,
    device_coverage,
    device_operators_file,
    matrix_values,
    operators_file,
)

FRONT = 60 * 1024
DEVICE = 320 * 1024
NIGHTLY = 64 * 1024
FONTS = 60 * 1024
"""Of the page besides; the browser keeps them."""
STYLE = 15 * 1024
STYLE_OF_SOME = 3 * 1024
"""A style sheet of a few pages."""
SCRIPTS = 10 * 1024
"""What a page loads to filter and sort its table."""
OPERATORS = 1_200_000
OPERATORS_PACKED = 120 * 1024
DEVICE_OPERATORS = 512 * 1024
DIFF = 16 * 1024
"""Bytes of the page that compares runs with fifty devices, and of its scripts and style, each compressed."""


def test_front_page_with_fifty_devices(sampled: Sample, rendered: Rendered) -> None:
    registry, devices = [], []
    for number in range(50):
        item = sampled.registry[number % 15].device.model_copy(update={"name": f"device{number}"})
        registry.append(registered(item))
        devices.append(sampled.verdicts.devices[number % 15].model_copy(update={"device": item.name}))
    shown = rendered(registry=registry, devices=tuple(devices))
    page = read(shown / "index.html")
    scripts = [item.attributes["src"] for item in page.find("script")]
    styles = [item.attributes["href"] for item in page.find("link", rel="stylesheet")]
    assert {"static/style.css", "static/board.css", "static/grid.js"} <= {*scripts, *styles}
    loaded = [shown / name for name in ("index.html", *scripts, *styles)]
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < FRONT


def test_the_fonts_are_small(site: Path) -> None:
    assert 0 < sum(path.stat().st_size for path in (site / "static").glob("*.woff2")) < FONTS


def test_the_page_that_compares_runs_with_fifty_devices(sampled: Sample, rendered: Rendered, tmp_path: Path) -> None:
    history, registry = History(tmp_path / "history"), []
    for number in range(2):
        history.append_plan(sampled.history.plans()[number])
        for device in range(50):
            record = run("cobalt", number, VerdictName.OK)
            name = f"device{device}"
            history.append_run(record.model_copy(update={"device": name, "id": f"{record.plan_id}-{name}"}))
    for device in range(50):
        item = sampled.registry[2].device.model_copy(update={"name": f"device{device}"})
        registry.append(registered(item))
    shown = rendered(history, registry, devices=())
    page = (shown / "diff" / "index.html").read_bytes()
    assert page.count(b"ootci diff device") == 50
    assert len(gzip.compress(page)) < DIFF
    files = sorted((shown / "static").glob("diff*"))
    assert {path.name for path in files} == {"diff.js", "diff.css", "difference.js"}
    assert len(gzip.compress(b"".join(path.read_bytes() for path in files))) < DIFF


def test_nightly_page_with_fifty_devices(sampled: Sample, rendered: Rendered, tmp_path: Path) -> None:
    """Every row as long as it gets: with a verdict, a report and the commit that was tested."""
    plan, honest = sampled.history.plans()[-1], run("borealis", NIGHTS - 1, VerdictName.REGRESSED)
    one = next(item for item in plan.runs if item.device == "borealis")
    names = [f"device{number}" for number in range(50)]
    registry = [registered(sampled.registry[1].device.model_copy(update={"name": name})) for name in names]
    history = History(tmp_path / "history")
    history.append_plan(
        plan.model_copy(update={"runs": tuple(one.model_copy(update={"device": name}) for name in names)})
    )
    for name in names:
        history.append_run(honest.model_copy(update={"device": name, "id": f"{plan.id}-{name}"}))
    devices = tuple(sampled.verdicts.devices[1].model_copy(update={"device": name}) for name in names)
    page_of_it = rendered(history, registry, devices=devices) / "n" / plan.id / "index.html"
    assert page_of_it.read_text(encoding="utf-8").count("REGRESSED") >= 50
    assert page_of_it.stat().st_size < NIGHTLY


def test_device_page_with_thousands_of_failures(sampled: Sample, rendered: Rendered, tmp_path: Path) -> None:
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
        for number in range(4_000)
    )
    changes = tuple(
        Change(id=item.id, change=ChangeName.REGRESSION, after=item.outcome, signature=ALIKE.id, streak=1)
        for item in outcomes
    )
    history = History(tmp_path / "history")
    for plan in sampled.history.plans()[-2:]:
        history.append_plan(plan)
    # The run before, of which everything differs.
    before = tuple(item.model_copy(update={"outcome": OutcomeName.PASSED, "text": None}) for item in outcomes)
    earlier = run("cobalt", NIGHTS - 2, VerdictName.OK)
    history.append_run(earlier.model_copy(update={"outcomes": before}))
    history.append_run(honest.model_copy(update={"outcomes": outcomes}))
    verdict = sampled.verdicts.devices[2].model_copy(
        update={"changes": changes, "streaks": STREAKS, "run_id": honest.id}
    )
    shown = rendered(history, sampled.registry[2:3], devices=(verdict,))
    pages = list((shown / "d").rglob("*.html"))
    assert len(pages) == 7
    for path in pages:
        assert path.stat().st_size < DEVICE, path
    text = pages[0].read_text(encoding="utf-8")
    assert "more tests not named here" in text


def test_matrix_of_fifty_devices_and_seven_hundred_operators(sampled: Sample, tmp_path: Path) -> None:
    """What becomes of each is drawn by lot, which packs worse than anything that is true."""
    random = Random(1)  # noqa: S311 - nothing secret
    states = list(STATES)
    common = ("NATIVE", "FALLBACK", "UNSUPPORTED", "MISMATCH", "CRASH")
    weights = [10 if state.name in common else 1 for state in states]
    names = [f"nn.functional.operator_{number:03d}" for number in range(700)]
    devices = [f"device{number:02d}" for number in range(50)]
    found = {
        name: DeviceCoverage(dict(zip(names, random.choices(states, weights, k=700), strict=True)), None)
        for name in devices
    }
    file = operators_file(devices, found)
    maker = PageMaker(dashboard_folder() / "templates", (), sampled.verdicts, None)
    _, content = maker.show("operators/index.html", "operators.html", page=file, **matrix_values(file))
    assert len(re.findall(rb"<td class=[a-z]>[A-Z]</td>", content)) == 35_000
    assert len(content) < OPERATORS
    assert len(gzip.compress(content)) < OPERATORS_PACKED


def test_operators_of_a_device(sampled: Sample, tmp_path: Path) -> None:
    kinds = [("forward", dtype) for dtype in DTYPES] + [("backward", "float32"), ("out", "float32")]
    outcomes = tuple(
        Outcome(
            id=f"ops/test_{kind}.py::test_{kind}[nn.functional.operator_{number:03d}-{dtype}]",
            suite="ops",
            outcome=OutcomeName.UNSUPPORTED,
            message=f"1 of 1 samples are refused, first sample 1: f(x): the device raised error {number} " + 900 * "x",
        )
        for number in range(700)
        for kind, dtype in kinds
    )
    tested = operators_of(outcomes)
    coverage = device_coverage(None, tested)
    file = device_operators_file("openreg", coverage, tested, "x")
    maker = PageMaker(dashboard_folder() / "templates", (), sampled.verdicts, None)
    values = {"page": file, "counts": coverage.counts, **matrix_values(file)}
    _, content = maker.show("operators/openreg/index.html", "device_operators.html", **values)
    assert len(re.findall(rb"<td class=[a-z]>[A-Z]</td>", content)) == 700 * len(kinds)
    assert b"more operators are not shown here" in content
    assert len(content) < DEVICE_OPERATORS


def test_style_sheets(site: Path) -> None:
    assert (site / "static" / "style.css").stat().st_size < STYLE
    assert (site / "static" / "board.css").stat().st_size < 3 * STYLE_OF_SOME
    assert (site / "static" / "trends.css").stat().st_size < STYLE_OF_SOME
    assert (site / "static" / "device.css").stat().st_size < 2 * STYLE_OF_SOME
    assert (site / "static" / "operators.css").stat().st_size < STYLE_OF_SOME
    assert (site / "static" / "controls.css").stat().st_size < STYLE_OF_SOME


def test_scripts_of_tables(site: Path) -> None:
    scripts = [site / "static" / name for name in ("filter.js", "sort.js", "sortable.min.js")]
    assert sum(path.stat().st_size for path in scripts) < SCRIPTS
