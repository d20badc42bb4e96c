"""Which PyTorch a device works with: what was measured, else what is predicted, else that nothing was tested."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from unit.render.pages import Element, content, read
from unit.samples import device, night, on_release, run
from unit.stages.other_torches import BAD, GOOD, dev, on, planned
from unit.upstream_nights import SUITES

from ootci.history.store import History
from ootci.model.build import PluginBuild
from ootci.model.compat import Compat, Forecast, Prediction
from ootci.model.plan import PlannedRun
from ootci.model.torch_build import TorchBuild
from ootci.stages.judge import judge
from ootci.stages.render import render
from ootci.stages.render.badge import COLOURS

NIGHTLY, NEWEST, BEFORE = "2.16.0.dev20261107+cpu", "2.15.0+cpu", "2.14.1+cpu"
NAMES = ("asked", "dev", "fell", "lost", "own", "told", "paused", "yet")
NOT_YET = {"integration": {"one": "failed", "two": "passed"}, "suite": "upstream"}
"""Of PyTorch's own tests, one that never passed on the device."""
PLUGIN = PluginBuild(package="torch-dev", version="1.2.3", source="path")


def _predictions() -> Compat:
    """A break of every plugin on the newest release, where ``dev`` was measured, too."""
    forecasts = {NIGHTLY: Forecast.NO_BREAK, NEWEST: Forecast.BREAK, BEFORE: Forecast.NOTHING}
    return Compat(
        plan_id="night007",
        torches=tuple(TorchBuild(version=version) for version in forecasts),
        predictions=tuple(
            Prediction(plugin=name, torch=version, forecast=forecast, why=f"read: {version}")
            for name in ("dev", "paused", "told")
            for version, forecast in forecasts.items()
        ),
    )


def _with_upstream(runs: Sequence[PlannedRun]) -> tuple[PlannedRun, ...]:
    """The same runs, those of ``yet`` with PyTorch's own tests."""
    return tuple(one.model_copy(update={"suites": SUITES}) if one.device.startswith("yet") else one for one in runs)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("support")
    history = History(folder / "data")
    history.append_plan(planned(0, "dev", "lost", dev_release=BEFORE))
    history.append_run(on(0, "dev_release", BEFORE, **GOOD))
    history.append_run(run(0, "lost", integration={"one": "passed", "two": "passed"}))
    tonight = planned(7, *NAMES[:6], "yet", dev_release=NEWEST, dev_previous_release=BEFORE, yet_release=NEWEST)
    both = {"runs": _with_upstream(tonight.runs), "also": _with_upstream(tonight.also)}
    history.append_plan(tonight.model_copy(update=both))
    failing = on(7, "dev_release", NEWEST, **BAD).model_copy(update={"url": "https://example.com/runs/7"})
    passing = on(7, "dev_previous_release", BEFORE, **GOOD).model_copy(update={"plugin": PLUGIN})
    released = on(7, "yet_release", NEWEST, **NOT_YET)
    nightly = (
        run(7, "dev", **GOOD),
        on_release(run(7, "fell", **GOOD), NEWEST),
        on_release(run(7, "told", **GOOD), NEWEST),
        run(7, "lost", integration={"one": "passed"}),
        run(7, "yet", **NOT_YET),
    )
    for one in (*nightly, failing, passing, *(on(7, name, NEWEST, **GOOD) for name in ("own", "asked")), released):
        history.append_run(one)
    history.append_compat(_predictions())
    registry = (
        dev(),
        device("asked"),
        device("fell"),
        device("lost"),
        device("own", torch={"channel": "release"}),
        device("told"),
        device("paused", paused={"reason": "Its machine is being moved."}),
        device("yet", torch={"also": ["release"]}, suites=[{"name": "smoke"}, {"name": "upstream"}]),
    )
    render(registry, history, judge(registry, history, night(7) + timedelta(hours=1)), folder / "site")
    return folder / "site"


def test_the_file_has_what_was_measured_else_what_is_predicted_else_nothing(site: Path) -> None:
    found = content(site / "api/v1/support.json")
    assert found["torches"] == ["nightly", "2.15", "2.14"]
    cells = {row["device"]: {cell["torch"]: cell for cell in row["cells"]} for row in found["devices"]}
    words = {name: [(cell["verdict"], cell["forecast"]) for cell in cells[name].values()] for name in NAMES}
    assert words == {
        "asked": [(None, None), ("OK", None), (None, None)],
        "dev": [("OK", None), ("SMOKE_BROKEN", None), ("OK", None)],
        "fell": [(None, None)] * 3,
        "lost": [("LOST_TESTS", None), (None, None), (None, None)],
        "own": [(None, None), ("OK", None), (None, None)],
        "told": [(None, "no break found"), (None, "break predicted"), (None, None)],
        "paused": [(None, "no break found"), (None, "break predicted"), (None, None)],
        "yet": [("OK", None), ("OK", None), (None, None)],
    }
    assert [cells["yet"][torch]["suites"] for torch in ("nightly", "2.15")] == 2 * [["smoke", "upstream"]]
    newest, before = cells["dev"]["2.15"], cells["dev"]["2.14"]
    assert (newest["suites"], newest["why"][:7], newest["page"]) == (
        ["integration"],
        "1 test ",
        "https://example.com/runs/7",
    )
    assert (before["version"], before["plugin"], before["suites"]) == (BEFORE, "1.2.3", ["smoke", "integration"])
    # The week before, it was the newest release.
    assert before["since"] == "2026-11-01T04:00:00.000Z"
    assert cells["lost"]["nightly"]["suites"] == ["smoke"]
    assert cells["asked"]["nightly"]["why"] == "the newest run was on torch 2.15.0+cpu"
    fell = cells["fell"]["nightly"]
    assert "release 2.15.0+cpu instead of nightly" in fell["why"]
    assert (fell["fallback"], fell["page"]) == (NEWEST, "../../d/fell/night007/index.html")
    # A release that somebody requested is no fallback, and one with a prediction stays visible.
    assert not [name for name in NAMES if name not in ("fell", "told") and "fallback" in cells[name]["nightly"]]
    told = cells["told"]["nightly"]
    assert (told["fallback"], told["forecast"], told["why"]) == (NEWEST, "no break found", f"read: {NIGHTLY}")
    assert cells["dev"]["nightly"]["page"] == "../../d/dev/night007/index.html"


def _texts(row: Element) -> list[str]:
    return [" ".join(cell.text.split()).replace(" ,", ",") for cell in row.find("td")]


def test_the_page_and_the_device_s_page_show_the_same(site: Path) -> None:
    page = read(site / "support" / "index.html")
    own = read(site / "d" / "dev" / "index.html").one("section", aria_labelledby="support").find("dd")
    cells = _texts(page.one("tr", id="dev"))
    assert cells[1:] == [" ".join(cell.text.split()).replace(" ,", ",") for cell in own]
    assert cells[2] == "OK since 2026-11-01 plugin 1.2.3, torch 2.14.1+cpu passed: smoke, integration"
    assert _texts(page.one("tr", id="paused")) == [
        "no break found predicted, not tested",
        "break predicted predicted, not tested",
        "not tested",
    ]
    assert not page.one("tr", id="paused").find(class_="status")


def test_a_fallback_is_named_in_the_nightly_s_cell_and_has_no_verdict(site: Path) -> None:
    page = read(site / "support" / "index.html")
    fell, told = page.one("tr", id="fell"), page.one("tr", id="told")
    assert _texts(fell)[0].startswith(f"fallback: {NEWEST} release {NEWEST} instead of nightly")
    assert _texts(told)[0] == (f"fallback: {NEWEST} tested instead of the nightly no break found predicted, not tested")
    assert [row.find(class_="status") for row in (fell, told)] == [[], []]
    assert fell.find("td")[0].find("a")[0].attributes["href"] == "../d/fell/night007/index.html"


def test_a_badge_names_the_releases_that_a_device_works_with(site: Path) -> None:
    gallery = read(site / "badge" / "index.html")
    assert {name: (site / "badge" / f"{name}-support.svg").exists() for name in NAMES} == {
        "asked": False,
        "dev": True,
        "fell": False,
        "lost": False,
        "own": True,
        "paused": False,
        "told": False,
        "yet": True,
    }
    found = content(site / "badge/dev-support.json")
    assert (found["label"], found["message"], found["color"]) == ("torch", "2.14 · 2.15 smoke broken", COLOURS["bad"])
    found = content(site / "badge/own-support.json")
    assert (found["message"], found["color"]) == ("2.15", COLOURS["good"])
    snippets = gallery.one("tbody", id="dev").find("input")
    assert any("SITE/badge/dev-support.svg" in snippet.attributes["value"] for snippet in snippets)


def test_other_torches_have_no_row_and_no_page(site: Path) -> None:
    assert sorted(path.name for path in (site / "d").iterdir()) == sorted(NAMES)
    assert "dev_release" not in (site / "n" / "night007" / "index.html").read_text(encoding="utf-8")
    assert content(site / "api/v1/devices.json")["devices"][0]["verdict"] == "OK"
