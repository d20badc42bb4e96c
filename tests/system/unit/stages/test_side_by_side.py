"""Several workers that run one suite at once, each its share of the tests."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from processes import ends
from unit.stages.smoke_run import Played, clock, fake_python, smoke_run

from ootci.adapters import process
from ootci.adapters.progress import Progress
from ootci.stages.test.suite_run import SuiteRun
from ootci.stages.test.supervisor import Supervisor, supervise


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteRun:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.3)
    return smoke_run(tmp_path, python=fake_python(tmp_path))


def _play(suite: SuiteRun, *workers: list[list[str]], progress: Progress | None = None) -> Played:
    """Each worker plays scripts of its own."""
    parts = []
    for part, scripts in zip(suite.side_by_side(len(workers)), workers, strict=True):
        part.scratch.mkdir()
        variables = {**os.environ, **part.variables, "FAKE_SCRIPT": json.dumps(scripts)}
        parts.append(Supervisor(replace(part, variables=variables), clock=clock))
    return Played(suite.scratch, supervise(parts, progress or Progress(quiet=True)))


def test_workers_run_side_by_side_and_one_log_has_what_both_tell(suite: SuiteRun) -> None:
    one, two = suite.scratch / "one", suite.scratch / "two"
    played = _play(
        suite,
        [["collect a b", "start a", f"make {one}", f"await {two}", "crash"], ["start b", "end b=passed", "finish 0"]],
        [["collect c", "start c", f"await {one}", f"make {two}", "end c=failed", "finish 1"]],
    )
    assert played.outcomes == {"a": "crashed", "b": "passed", "c": "failed"}
    assert (played.end.reason, played.end.failed) == (None, ("a", "c"))
    assert {test: told.outcome.value for test, told in played.told.items()} == played.outcomes
    assert list(played.end.before_death) == ["a"]
    starts = {worker: Played(suite.scratch / f"worker.{worker}", played.end).starts for worker in (1, 2)}
    assert {worker: len(lines) for worker, lines in starts.items()} == {1: 2, 2: 1}
    assert [f"--worker={worker}/2" in starts[worker][0] for worker in (1, 2)] == [True, True]
    # What died is run on by name, which is no share.
    assert "--worker" not in starts[1][1]


def test_a_worker_without_a_test_is_no_failure(suite: SuiteRun) -> None:
    played = _play(suite, [["collect a", "start a", "end a=passed", "finish 0"]], [["collect", "finish 5"]])
    assert (played.outcomes, played.end.reason) == ({"a": "passed"}, None)


def test_the_worker_that_did_not_end_well_says_why_and_the_others_run_on(suite: SuiteRun) -> None:
    played = _play(suite, [["collect a", "start a", "end a=passed", "finish 0"]], [["print Fatal: no card", "exit 7"]])
    assert played.outcomes == {"a": "passed"}
    assert played.end.reason == "pytest ended before it had collected any test: exit code 7; Fatal: no card"
    assert (played.end.orderly, played.end.log) == (False, "smoke.2.log")


def test_the_files_of_a_worker_that_listed_no_test_are_named(suite: SuiteRun) -> None:
    dealt = json.dumps({"event": "dealt", "files": {"up/a.py": [1], "up/b.py": [2], "up/c.py": [1, 2]}})
    played = _play(suite, [[f"raw {dealt}\\n", "collect a", "start a", "end a=passed", "finish 0"]], [["crash"]])
    assert played.outcomes == {"a": "passed", "up/b.py::import": "not_run"}
    assert list(played.end.collected) == ["a", "up/b.py::import"]
    message = "the file's tests are not known: pytest ended before it had collected any test: killed by SIGSEGV"
    assert (played.told["up/b.py::import"].message or "").startswith(message)


def test_the_processes_of_all_workers_end_when_the_run_is_interrupted(suite: SuiteRun) -> None:
    places = [suite.scratch / name for name in ("one", "two")]

    class Interrupting(Progress):
        def update(self, detail: str) -> None:
            if all(place.exists() and place.read_text(encoding="utf-8") for place in places):
                raise KeyboardInterrupt

    scripts = [[["collect a", "start a", f"daemon {place}", "hang"]] for place in places]
    with pytest.raises(KeyboardInterrupt):
        _play(suite, *scripts, progress=Interrupting(quiet=True))
    for place in places:
        assert ends(int(place.read_text(encoding="utf-8")))


def test_workers_share_the_cpus_unless_somebody_said_how_many_threads(suite: SuiteRun) -> None:
    threads = str(max(1, (os.cpu_count() or 1) // 2))
    assert [part.variables["OMP_NUM_THREADS"] for part in suite.side_by_side(2)] == [threads, threads]
    chosen = replace(suite, variables={"OMP_NUM_THREADS": "7"}).side_by_side(2)
    assert [part.variables["OMP_NUM_THREADS"] for part in chosen] == ["7", "7"]
    assert suite.side_by_side(1) == (suite,)
