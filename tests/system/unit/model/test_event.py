"""The event log comes from a process that may die, or lie, at any byte."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from unit.samples import FIRST_NIGHT

from ootci.model import event
from ootci.model.build import StageName, StageStatus
from ootci.model.event import Collected, StageEnd, StageStart, append_event, parse_event, read_events
from ootci.model.outcome import OutcomeName

GOOD = b'{"event": "test_end", "id": "smoke/a.py::b", "outcome": "passed", "duration": 0.5}\n'


def _read(path: Path, content: bytes) -> list[event.Event]:
    path.write_bytes(content)
    return list(read_events(path))


def test_a_log_cut_at_any_byte_gives_the_whole_lines_before_the_cut(tmp_path: Path) -> None:
    log = GOOD * 3
    for size in range(len(log) + 1):
        assert len(_read(tmp_path / "e", log[:size])) == size // len(GOOD)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b'{"event": "no_such_event"}\n',
        b'{"event": "test_end", "id": "a"}\n',
        b'{"event": "test_end", "id": "a", "outcome": "wonderful"}\n',
        b'{"event": "test_end", "id": 5, "outcome": "passed"}\n',
        b'{"event": "test_end", "id": "a", "outcome": "passed", "duration": NaN}\n',
        b'{"event": "test_end", "id": "a", "outcome": "passed", "duration": 1e300}\n',
        b'{"event": "test_end", "id": "a", "outcome": "passed", "duration": -1}\n',
        b'{"event": "test_end", "id": "a", "outcome": "passed", "time": "0001-01-01T00:00:00+14:00"}\n',
        b'{"event": "stage_end", "stage": "import", "status": "passed", "duration": Infinity}\n',
        b'{"event": "stage_start", "stage": "Lunch!"}\n',
        b'{"event": "test_start", "id": "\\ud800"}\n',
        b"\xff\xfe\x00\n",
        b"[" * 100_000 + b"\n",
    ],
)
def test_a_line_that_is_no_event_is_passed_over_and_costs_nothing_else(tmp_path: Path, line: bytes) -> None:
    assert parse_event(line) is None
    assert len(_read(tmp_path / "e", GOOD + line + GOOD)) == 2


def test_keys_of_a_newer_harness_are_ignored() -> None:
    found = parse_event(b'{"event": "test_start", "id": "a", "mood": "good"}')
    assert isinstance(found, event.TestStart)
    assert found.id == "a"


def test_a_line_that_is_too_long_is_no_event_and_neither_is_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event, "MAX_LINE_BYTES", 200)
    # The read that follows the limit begins exactly where a line would look like an event.
    hostile = b" " * 400 + GOOD
    assert _read(tmp_path / "e", hostile) == []
    assert len(_read(tmp_path / "e", hostile + GOOD)) == 1


def test_the_list_of_some_thousand_tests_fits_into_a_line(tmp_path: Path) -> None:
    tests = [{"id": f"smoke/test_x.py::test_y[{'a' * 200}{number}]", "suite": "smoke"} for number in range(10_000)]
    (found,) = _read(tmp_path / "e", json.dumps({"event": "collected", "tests": tests}).encode() + b"\n")
    assert isinstance(found, Collected)
    assert len(found.tests) == 10_000


def test_a_missing_log_has_no_events(tmp_path: Path) -> None:
    assert list(read_events(tmp_path / "gone")) == []
    assert list(read_events(tmp_path)) == []


def test_what_is_appended_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "e"
    path.write_bytes(GOOD)
    append_event(path, StageStart(stage=StageName.SMOKE), FIRST_NIGHT)
    append_event(path, event.TestEnd(id="é\x1b[0m\n", outcome=OutcomeName.CRASHED, message="a\nb"), FIRST_NIGHT)
    append_event(path, StageEnd(stage=StageName.SMOKE, status=StageStatus.CRASHED), FIRST_NIGHT)
    _, start, end, last = read_events(path)
    assert isinstance(start, StageStart)
    assert start.time == FIRST_NIGHT
    assert isinstance(end, event.TestEnd)
    assert end.id == "é\x1b[0m\n"
    assert isinstance(last, StageEnd)
    assert path.read_bytes().count(b"\n") == 4


def test_a_log_that_was_exchanged_for_something_else_is_begun_anew(tmp_path: Path) -> None:
    """A pipe would be waited for, and a link could lead to any file."""
    (tmp_path / "other").write_bytes(b"precious")
    for make in (os.mkfifo, lambda path: path.symlink_to("other"), lambda path: path.symlink_to("nowhere")):
        path = tmp_path / "e"
        make(path)
        assert list(read_events(path)) == []
        append_event(path, StageStart(stage=StageName.SMOKE), FIRST_NIGHT)
        assert len(list(read_events(path))) == 1
        path.unlink()
    assert (tmp_path / "other").read_bytes() == b"precious"
    assert not (tmp_path / "nowhere").exists()
