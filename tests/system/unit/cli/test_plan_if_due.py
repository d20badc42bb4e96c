"""``ootci plan --if-due``: a nightly starts once per nightly of PyTorch, and after a deadline with what there is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from torch_server import TorchServer, serve_torch_index
from unit.samples import register

from ootci.adapters import download
from ootci.flows import planning
from ootci.history.store import History
from ootci.model.plan import Plan
from ootci.model.record import read

from commands import Ran, Tool  # isort: skip

KEPT = "kept/plan.json"
At = Callable[..., Ran]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchServer]:
    """Indexes with the nightly of the 20th and a release."""
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    with serve_torch_index(tmp_path / "index") as found:
        found.add("nightly", "2.15.0.dev20261120+cpu")
        found.add("release", "2.14.1+cpu")
        yield found


@pytest.fixture
def at(ootci: Tool, server: TorchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> At:
    """Look at a time of November 2026 whether the nightly is due."""
    register(tmp_path)

    def look(day: int, hour: int, *more: str, **variables: str) -> Ran:
        monkeypatch.setattr(planning, "clock", lambda: datetime(2026, 11, day, hour, 10, tzinfo=timezone.utc))
        outputs = tmp_path / "outputs"
        outputs.unlink(missing_ok=True)
        environment = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "schedule", **server.variables, **variables}
        arguments = ("plan", "--if-due", KEPT, "--github-output", "outputs", *more)
        return ootci(*arguments, cwd=tmp_path, env=environment)

    return look


def _due(folder: Path) -> bool:
    written = dict(line.split("=", 1) for line in (folder / "outputs").read_text(encoding="utf-8").splitlines())
    assert (written["count"] == "0") == (written["due"] == "no")
    return written["due"] == "yes"


def _torch(folder: Path) -> dict[str, tuple[str | None, str | None]]:
    plan = read(Plan, folder / ".ootci" / "plan.json")
    return {run.device: (run.torch.version, run.torch.fallback_reason) for run in plan.runs}


def test_it_starts_once_per_nightly_on_the_day_on_which_the_index_has_it(
    at: At, server: TorchServer, tmp_path: Path
) -> None:
    started = []
    for hour in range(8, 23):
        if hour == 12:
            server.add("nightly", "2.15.0.dev20261121+cpu")
        ran = at(21, hour)
        assert ran.code == 0, ran.err
        if _due(tmp_path):
            started.append((hour, _torch(tmp_path)["dev"]))
    # Nothing was started before, so that the nightly of the day before is new, too.
    assert started == [(8, ("2.15.0.dev20261120+cpu", None)), (12, ("2.15.0.dev20261121+cpu", None))]


def test_what_is_not_due_writes_no_plan_and_says_why(at: At, tmp_path: Path) -> None:
    at(20, 9)
    (tmp_path / ".ootci" / "plan.json").unlink()
    kept = (tmp_path / KEPT).read_bytes()
    ran = at(21, 13)
    assert (ran.code, ran.out, _due(tmp_path)) == (0, "", False)
    assert "not planned: the index has no nightly newer than 2026-11-20 yet; from 14:00 UTC on it starts" in ran.err
    assert not (tmp_path / ".ootci" / "plan.json").exists()
    assert (tmp_path / KEPT).read_bytes() == kept
    at(21, 14)
    assert "the nightly of 2026-11-20 was started, and the index has no newer one" in at(21, 15).err


def test_after_the_deadline_it_starts_with_what_there_is_and_says_so(
    at: At, server: TorchServer, tmp_path: Path
) -> None:
    at(20, 9)
    ran = at(21, 14)
    why = "no nightly newer than 2026-11-20 was published by 2026-11-21 14:10 UTC"
    assert _due(tmp_path)
    assert _torch(tmp_path) == {"dev": ("2.15.0.dev20261120+cpu", why)}
    assert read(Plan, tmp_path / KEPT) == read(Plan, tmp_path / ".ootci" / "plan.json")
    assert ran.code == 0
    # The nightly that lands later on that day is tested on that day.
    server.add("nightly", "2.15.0.dev20261121+cpu")
    at(21, 16)
    assert _due(tmp_path)
    assert _torch(tmp_path) == {"dev": ("2.15.0.dev20261121+cpu", None)}


def test_a_build_that_lands_later_is_waited_for_and_one_that_has_stopped_is_not(
    at: At, server: TorchServer, tmp_path: Path
) -> None:
    register(tmp_path, "other", "python: '3.13'\n")
    register(tmp_path, "stopped", "python: '3.12'\n")
    server.files.clear()
    server.add("release", "2.14.1+cpu")
    server.add("nightly", "2.15.0.dev20261118+cpu", tag="cp312-none-any")
    for tag in ("cp311-none-any", "cp313-none-any"):
        server.add("nightly", "2.15.0.dev20261120+cpu", tag=tag)
    register(tmp_path, "dev", "python: '3.11'\n")
    at(20, 14)
    assert _due(tmp_path)
    server.add("nightly", "2.15.0.dev20261121+cpu", tag="cp311-none-any")
    assert "the index has no nightly for other yet" in at(21, 12).err
    server.add("nightly", "2.15.0.dev20261121+cpu", tag="cp313-none-any")
    at(21, 13)
    assert _due(tmp_path)
    found = _torch(tmp_path)
    assert found["dev"] == found["other"] == ("2.15.0.dev20261121+cpu", None)
    assert found["stopped"] == (
        "2.15.0.dev20261118+cpu",
        "no nightly newer than 2026-11-18 was published by 2026-11-21 13:10 UTC",
    )


def test_an_index_that_does_not_answer_is_asked_again_until_the_deadline(
    at: At, server: TorchServer, tmp_path: Path
) -> None:
    at(20, 9)
    server.files = {path: file for path, file in server.files.items() if path.startswith("/release")}
    at(21, 13)
    assert not _due(tmp_path)
    at(21, 14)
    assert _due(tmp_path)
    version, why = _torch(tmp_path)["dev"]
    assert (version, "404" in str(why)) == ("2.14.1+cpu", True)


def test_a_vendors_file_that_wants_no_nightly_starts_once_a_day_and_predicts_nothing(at: At, tmp_path: Path) -> None:
    register(tmp_path, "dev", "torch: {channel: release}\n")
    started = []
    for day, hour in ((20, 8), (20, 16), (21, 8)):
        at(day, hour, OOTCI_DEVICES="devices/dev.yaml")
        started.append(_due(tmp_path))
        assert read(Plan, tmp_path / ".ootci" / "plan.json").nightly is None
    assert started == [True, False, True]


def test_where_no_device_runs_on_a_nightly_it_starts_once_per_nightly_for_predictions(
    at: At, server: TorchServer, tmp_path: Path
) -> None:
    register(tmp_path, "dev", "paused: {reason: No card.}\n")
    register(tmp_path, "old", "torch: {channel: release}\n")
    started = []
    for hour in (8, 9, 12, 15):
        if hour == 12:
            server.add("nightly", "2.15.0.dev20261121+cpu")
        at(21, hour)
        if _due(tmp_path):
            nightly = read(Plan, tmp_path / ".ootci" / "plan.json").nightly
            started.append((hour, nightly and nightly.version))
    assert started == [(8, "2.15.0.dev20261120+cpu"), (12, "2.15.0.dev20261121+cpu")]
    # A nightly that was started for certain devices predicts nothing.
    assert at(22, 15, "--device", "old").code == 0
    assert read(Plan, tmp_path / ".ootci" / "plan.json").nightly is None


def test_jobs_that_are_run_again_plan_the_same_nightly_again(at: At, tmp_path: Path) -> None:
    at(20, 12)
    at(20, 12, GITHUB_RUN_ATTEMPT="2")
    assert _due(tmp_path)
    assert _torch(tmp_path)["dev"][1] is None


def test_a_kept_plan_that_is_lost_or_broken_is_replaced_by_the_historys(at: At, tmp_path: Path) -> None:
    at(20, 12)
    History(tmp_path / "data").append_plan(read(Plan, tmp_path / KEPT))
    (tmp_path / KEPT).write_text("{", encoding="utf-8")
    ran = at(20, 13)
    assert not _due(tmp_path)
    assert "the nightly may start twice" in ran.err


def test_a_pull_request_is_never_due(at: At) -> None:
    ran = at(20, 12, "--pull-request", "1")
    assert ran.code == 2
    assert "leave out one of the two" in ran.err


def test_a_paused_device_whose_source_compiles_is_in_the_matrix_and_is_not_counted(at: At, tmp_path: Path) -> None:
    paused, compiles = "paused: {reason: No card.}\n", "compat: {compile: true}\n"
    register(tmp_path, "away", paused + compiles)
    register(tmp_path, "idle", paused)
    register(tmp_path, "busy", compiles)
    assert at(20, 8).code == 0
    outputs = dict(line.split("=", 1) for line in (tmp_path / "outputs").read_text(encoding="utf-8").splitlines())
    busy, dev, away = json.loads(outputs["matrix"])["include"]
    assert (busy["device"], dev["device"], away) == ("busy", "dev", {"device": "away", "compile": True})
    assert outputs["count"] == "2"
