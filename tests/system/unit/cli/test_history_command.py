"""``ootci history append``: artifacts of jobs that ran vendor code are taken only as far as the plan expected them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.samples import plan, run

from ootci.history.store import History
from ootci.model.record import write
from ootci.model.run import Run

from commands import Tool  # isort: skip


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work folder with a plan for two devices and a good run of one of them."""
    write(plan(0, ("dev", "two")), tmp_path / ".ootci" / "plan.json")
    write(run(0, "two"), tmp_path / ".ootci" / "runs" / "two" / "run.json")
    return tmp_path


def _stored(folder: Path) -> tuple[Run, ...]:
    history = History(folder)
    return tuple(run for name in history.devices() for run in history.runs(name))


def _edited(**values: object) -> bytes:
    return json.dumps({**json.loads(run(0, "dev").to_json()), **values}).encode()


HOSTILE: dict[str, bytes] = {
    "another-device": _edited(device="two"),
    "another-run": _edited(id="night000-nobody"),
    "path": _edited(device="../../x", id="night000-../../x"),
    "not-json": b"\x00\x01",
    "empty": b"",
    "deep": b"[" * 100_000,
    "newer": _edited(schema_version=99),
    "unknown-key": _edited(extra=1),
    "infinite": run(0, "dev").to_json().replace('"duration": 0.0', '"duration": Infinity', 1).encode(),
    "far-away": _edited(started_at="0001-01-01T00:00:00+14:00"),
    "surrogate": run(0, "dev").to_json().replace("one", "\\ud800", 1).encode(),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_run_is_told_and_the_others_get_in(ootci: Tool, work: Path, name: str) -> None:
    path = work / ".ootci" / "runs" / "dev" / "run.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(HOSTILE[name])
    ran = ootci("history", "append", cwd=work)
    assert ran.code == 0
    assert ran.out == "runs appended: 1; there already: 0\n"
    assert "not taken" in ran.err
    assert "Traceback" not in ran.err
    assert _stored(work / "data") == (run(0, "two"),)
    assert ootci("judge", "--devices", str(Path(__file__).parents[4] / "devices"), cwd=work).code == 0


def test_a_folder_without_a_run_or_of_another_plan_is_passed_over(ootci: Tool, work: Path) -> None:
    write(run(7, "dev"), work / ".ootci" / "runs" / "dev" / "run.json")
    (work / ".ootci" / "runs" / "third").mkdir()
    assert ootci("history", "append", cwd=work).out == "runs appended: 1; there already: 0\n"


def test_appending_twice_adds_nothing_and_a_changed_run_is_refused(ootci: Tool, work: Path) -> None:
    ootci("history", "append", cwd=work)
    assert ootci("history", "append", cwd=work).out == "runs appended: 0; there already: 1\n"
    write(run(0, "two", smoke={"one": "failed"}), work / ".ootci" / "runs" / "two" / "run.json")
    again = ootci("history", "append", cwd=work)
    assert "not taken: HIST-001: " in again.err
    assert _stored(work / "data") == (run(0, "two"),)


def test_fetch_append_publish_and_fetch_again(
    ootci: Tool, work: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    remote = tmp_path_factory.mktemp("remote")
    subprocess.run(["git", "init", "-q", "--bare", "."], cwd=remote, check=True)
    call: Callable[..., str] = lambda *arguments: ootci("history", *arguments, "--remote", str(remote), cwd=work).out  # noqa: E731
    assert call("fetch") == "the branch data does not exist yet; starting empty\n"
    ootci("history", "append", cwd=work)
    assert call("publish") == "pushed to the branch data\n"
    assert call("publish") == "nothing to push\n"
    assert call("fetch", "--history", "elsewhere") == "fetched the branch data\n"
    assert _stored(work / "elsewhere") == (run(0, "two"),)


def test_a_remote_that_is_not_there_is_infrastructure_and_keeps_what_was_appended(ootci: Tool, work: Path) -> None:
    ootci("history", "append", cwd=work)
    ran = ootci("history", "publish", "--remote", str(work / "gone"), cwd=work)
    assert ran.code == 3
    assert "error HIST-003" in ran.err
    assert _stored(work / "data") == (run(0, "two"),)


def test_an_attempt_that_cannot_have_been_made_yet_is_not_taken(ootci: Tool, work: Path) -> None:
    """It would win over every later attempt of the same night."""
    late = run(0, "two").model_copy(update={"attempt": 99})
    write(late, work / ".ootci" / "runs" / "two" / "run.json")
    ran = ootci("history", "append", cwd=work)
    assert ran.out == "runs appended: 0; there already: 0\n"
    assert "it says attempt 99 and this is attempt 1" in ran.err
