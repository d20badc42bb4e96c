"""``ootci history export``: what other tools read is what the history says."""

from __future__ import annotations

import contextlib
import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from unit.samples import changed, plan, retries, run

from ootci.history.store import History
from ootci.model.outcome import Outcome, Way

from commands import Tool  # isort: skip

TESTS = {"one": "passed", "two": "failed", "three": "skipped", "four": "crashed"}


def _is_two(item: Outcome) -> bool:
    return item.id.endswith("::two")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Three nights of a device and one of another; a failure that spoke and then passed, and one without details."""
    history = History(tmp_path / "data")
    for number in range(3):
        history.append_plan(plan(number, ("dev", "other")))
        record = run(number, smoke=TESTS, integration={})
        record = changed(record, _is_two, message="no", duration=1.5, attempts=retries("passed"))
        record = changed(record, lambda item: not _is_two(item), ran=Way.NATIVE, capability="tensors")
        history.append_run(record)
    history.append_run(run(2, "other"))
    for path in (tmp_path / "data").glob("details/*/dev.night000*"):
        path.unlink()
    return tmp_path


def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def test_sqlite_has_a_row_for_each_run_and_each_remarkable_outcome(ootci: Tool, work: Path) -> None:
    ran = ootci("history", "export", "history.sqlite", cwd=work)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "history.sqlite: 3 nightlies, 4 runs, 36 stages, 6 outcomes\n"
    path = work / "history.sqlite"
    assert _rows(path, "SELECT * FROM nightlies LIMIT 1") == [("night000", "2026-11-01T04:00:00.000Z", "local", None)]
    columns = "device, nightly, attempt, started_at, seconds, torch_version, passed, failed, crashed, skipped"
    runs = f"SELECT {columns} FROM runs"  # noqa: S608
    assert _rows(path, runs)[2:] == [
        ("dev", "night002", 1, "2026-11-03T04:00:00.000Z", 300.0, "2.14.0.dev20261101+cpu", 1, 1, 1, 1),
        ("other", "night002", 1, "2026-11-03T04:00:00.000Z", 300.0, "2.14.0.dev20261101+cpu", 2, 0, 0, 0),
    ]
    columns = "nightly, test, suite, capability, outcome, ran, later, seconds, message"
    outcomes = f"SELECT {columns} FROM outcomes ORDER BY nightly, test"  # noqa: S608
    two, four = "smoke/test_x.py::two", "smoke/test_x.py::four"
    assert _rows(path, outcomes)[:4] == [
        ("night000", four, "smoke", "tensors", "crashed", "native", None, None, None),
        ("night000", two, "smoke", None, "failed", None, "passed", None, None),
        ("night001", four, "smoke", "tensors", "crashed", "native", None, 0.0, None),
        ("night001", two, "smoke", None, "failed", None, "passed", 1.5, "no"),
    ]
    assert len({row[0] for row in _rows(path, "SELECT signature FROM outcomes WHERE outcome = 'failed'")}) == 1


def test_everything_can_be_asked_for_and_less(ootci: Tool, work: Path) -> None:
    assert ootci("history", "export", "a.db", "--all-outcomes", cwd=work).out.endswith(" 14 outcomes\n")
    counts = "SELECT sum(passed + failed + crashed + skipped) FROM runs"
    assert _rows(work / "a.db", counts) == _rows(work / "a.db", "SELECT count(*) FROM outcomes")
    said = ootci("history", "export", "a.db", "--device", "other", "--since", "2026-11-02", cwd=work).out
    assert said == "a.db: 2 nightlies, 1 runs, 9 stages, 0 outcomes\n"
    said = ootci("history", "export", "a.db", "--since", "2026-11-03", cwd=work).out
    assert said == "a.db: 1 nightlies, 2 runs, 18 stages, 2 outcomes\n"
    assert {path.name for path in work.iterdir()} == {"data", "a.db"}


def test_a_device_that_is_not_there_leaves_the_file_as_it_was(ootci: Tool, work: Path) -> None:
    (work / "a.db").write_text("mine", encoding="utf-8")
    ran = ootci("history", "export", "a.db", "--device", "dve", cwd=work)
    assert (ran.code, ran.out) == (2, "")
    assert "error HIST-005" in ran.err
    assert (work / "a.db").read_text(encoding="utf-8") == "mine"
    assert {path.name for path in work.iterdir()} == {"data", "a.db"}


def test_a_disk_that_is_full_is_told_with_its_place_and_what_is_needed(work: Path) -> None:
    """A file may not grow beyond some bytes here, as on a disk that has no more."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
        "sys.argv = ['ootci', 'history', 'export', 'a.db', '--all-outcomes']\n"
        "from ootci.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-B", "-c", code], cwd=work, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr, "defect" in done.stderr) == (3, False, False), done.stderr
    assert done.stderr.startswith("error HOST-002: the tables cannot be written: ")
    assert re.search(r"they need more than [0-9,]+ bytes, and [0-9,]+ are free\n  where: \S+a.db", done.stderr)
    assert not [path for path in work.rglob("*") if path.name.endswith(".tmp")]
    assert not (work / "a.db").exists()
