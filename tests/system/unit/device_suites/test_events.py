"""The event log."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from small_suites import SUITES

from harness.events import EventLog
from ootci.model.event import MAX_LINE_BYTES, Collected, read_events


def _noon_in_another_zone() -> datetime:
    return datetime(2026, 1, 2, 12, 0, 0, 123456, tzinfo=timezone(timedelta(hours=2)))


def test_event_is_one_line_with_time_in_utc(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "log", clock=_noon_in_another_zone)
    log.write("one", id="a\nb", more={"x": None})
    log.write("two")
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0]) == {
        "event": "one",
        "time": "2026-01-02T10:00:00.123Z",
        "id": "a\nb",
        "more": {"x": None},
    }
    assert json.loads(lines[1])["event"] == "two"


def test_log_is_appended_to(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before\n", encoding="utf-8")
    log = EventLog(tmp_path / "log")
    log.write("after")
    log.close()
    log.write("too late")
    assert (tmp_path / "log").read_text(encoding="utf-8").count("\n") == 2


def test_without_a_file_nothing_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    EventLog(None).write("one")
    assert list(tmp_path.iterdir()) == []


def test_killed_process_loses_nothing_that_was_written(tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from harness.events import EventLog
from ootci.model.event import MAX_LINE_BYTES, Collected, read_events
log = EventLog(Path(sys.argv[1]))
for number in range(1000):
    log.write("number", number=number)
os.kill(os.getpid(), signal.SIGKILL)
"""
    log = tmp_path / "log"
    done = subprocess.run([sys.executable, "-c", code, str(log)], env={"PYTHONPATH": str(SUITES)}, check=False)
    assert done.returncode == -9
    assert [json.loads(line)["number"] for line in log.read_text(encoding="utf-8").splitlines()] == list(range(1000))


def test_a_hundred_thousand_tests_are_read_back(tmp_path: Path) -> None:
    """A line of more than 16 MiB would not be read."""
    path, name = tmp_path / "events.jsonl", "x" * 150
    tests = [{"id": f"upstream/{name}::{number}", "suite": "upstream", "title": "t"} for number in range(100_000)]
    log = EventLog(path)
    log.write_tests("collected", tests)
    log.write_tests("collected", [])
    log.close()
    *parts, empty = (event for event in read_events(path) if isinstance(event, Collected))
    assert [test.id for part in parts for test in part.tests] == [test["id"] for test in tests]
    assert empty.tests == ()
    assert max(map(len, path.read_bytes().splitlines())) < MAX_LINE_BYTES // 4
