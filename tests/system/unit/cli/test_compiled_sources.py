"""``ootci receive`` and what compiling the sources of paused devices predicted, against a stand-in for GitHub's API."""

from __future__ import annotations

import pytest
from unit.cli.device_runs_world import NAMES, World
from unit.samples import register

from ootci.model.compat import Compat, Forecast, Prediction, SourceCheck
from ootci.model.torch_build import TorchBuild

PAUSED = "paused: {reason: no card}\ncompat: {compile: true}\n"
SOURCE = SourceCheck(forecast=Forecast.BREAK, why="does not compile", place="k.cpp:3", error="no 'f'")


def _compile_report(plan_id: str = "night000", plugin: str = "card", torch: str = "2.15.0", why: str = "") -> bytes:
    """The file of a job that compiled a source; nothing else of it counts."""
    source = SOURCE.model_copy(update={"why": why or SOURCE.why})
    found = Prediction(plugin=plugin, torch=torch, forecast=Forecast.NO_BREAK, why="forged", version="9", source=source)
    return Compat(plan_id=plan_id, predictions=(found,)).to_json().encode()


@pytest.mark.parametrize(
    ("artifacts", "why"),
    [
        ({"compile-card-1": _compile_report()}, "does not compile · wheel"),
        (
            {"compile-card-1": _compile_report(why="first"), "compile-card-2": _compile_report(why="second")},
            "second · wheel",
        ),
        ({"compile-card-1": _compile_report(), "compile-card-2": b"no record"}, "does not compile · wheel"),
        ({}, None),
        ({"compile-card-1": b" " * (2 << 20)}, None),
        ({"compile-card-1": _compile_report(why="x" * 1001)}, None),
        ({"compile-card-1": _compile_report(plan_id="night001")}, None),
        ({"compile-card-1": _compile_report(torch="2.14.0")}, None),
        ({"compile-card-1": _compile_report(plugin="dev"), "compile-dev-1": _compile_report(plugin="dev")}, None),
    ],
    ids=["taken", "last attempt", "older", "none", "large", "long", "night", "torch", "of another device"],
)
def test_what_compiling_a_source_predicted_is_joined_with_the_wheel_s_prediction(
    world: World, artifacts: dict[str, bytes], why: str | None
) -> None:
    register(world.folder, "card", PAUSED)
    own = world.nightly(0, paused={"card": "no card"})
    for name in NAMES:
        world.report(0, name)
    wheel = Prediction(plugin="card", torch="2.15.0", forecast=Forecast.NO_BREAK, why="wheel")
    release = wheel.model_copy(update={"torch": "2.14.0"})
    dev = wheel.model_copy(update={"plugin": "dev"})
    torches = (TorchBuild(version="2.15.0"), TorchBuild(version="2.14.0"))
    predicted = Compat(plan_id="night000", torches=torches, predictions=(wheel, release, dev))
    world.hub.upload(own.number, "compat-1", own.sha, {"compat.json": predicted.to_json().encode()})
    # The nightly does not wait for it.
    assert world.received() == {"received": "yes", "publish": "yes", "devices": "dev two"}
    assert world.history.compat("night000") == predicted
    assert world.received()["received"] == "no"
    job = world.hub.started("card")
    for name, content in artifacts.items():
        world.hub.upload(job.number, name, job.sha, {"compat.json": content})
    # Vendors' code cannot write to the nightly's run; what it leaves in its own in other names does not count.
    job.attempt = 2
    forged = predicted.model_copy(update={"predictions": ()})
    world.hub.upload(job.number, "compat-9", job.sha, {"compat.json": forged.to_json().encode()})
    job.end()
    assert world.received() == {"received": "yes", "publish": "yes", "devices": ""}
    assert world.received()["received"] == "no"
    found = world.history.compat("night000")
    assert found is not None
    assert found.predictions[1:] == (release, dev)
    expected = why or "wheel · source not compiled: its job reported nothing"
    assert (found.predictions[0].why, found.predictions[0].version) == (expected, None)
    # A job that is run again counts.
    job.attempt, job.status = 3, "in_progress"
    assert world.received()["received"] == "no"
    world.hub.upload(job.number, "compile-card-3", job.sha, {"compat.json": _compile_report(why="third")})
    world.hub.upload(job.number, "compile-card-4", job.sha, {"compat.json": _compile_report(why="not yet")})
    job.end()
    assert world.received() == {"received": "yes", "publish": "yes", "devices": ""}
    assert world.received()["received"] == "no"
    found = world.history.compat("night000")
    assert found is not None
    assert found.predictions[0].why == "third · wheel"


def test_a_night_on_which_every_device_is_paused_has_a_page_with_its_predictions(world: World) -> None:
    for name in NAMES:
        register(world.folder, name, PAUSED)
    own = world.nightly(0, (), paused=dict.fromkeys(NAMES, "no card"))
    found = Prediction(plugin="dev", torch="2.15.0", forecast=Forecast.BREAK, why="Python: 1 of 9 names gone")
    nothing = Prediction(plugin="two", torch="2.15.0", forecast=Forecast.NOTHING, why="looked for: a wheel")
    predicted = Compat(
        plan_id="night000", torches=(TorchBuild(version="2.15.0"),), predictions=(found, nothing)
    ).to_json()
    world.hub.upload(own.number, "compat-1", own.sha, {"compat.json": predicted.encode()})
    assert world.received() == {"received": "yes", "publish": "yes", "devices": ""}
    assert world.verdicts() == dict.fromkeys(NAMES, "PAUSED: no card")
    assert world.call("judge").out.endswith("Nightly 2026-11-01: no device is active \N{MIDDLE DOT} 2 paused.\n")
    assert world.call("render").code == 0
    page = (world.folder / "site" / "index.html").read_text(encoding="utf-8")
    assert "Python: 1 of 9 names gone" in page
    assert "no card" in page
    assert "looked for: a wheel" in (world.folder / "site" / "compat" / "index.html").read_text(encoding="utf-8")
