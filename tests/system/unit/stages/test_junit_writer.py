"""junit.xml as the stage test writes it: any reader understands it, and ours reads back every outcome."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from junitparser import JUnitXml

from ootci.model.outcome import OutcomeName
from ootci.stages.collect.junit import Report, read_junit
from ootci.stages.test.junit import write_junit


def _round_trip(tmp_path: Path, *events: dict[str, object]) -> Report:
    log, report = tmp_path / "events.jsonl", tmp_path / "junit.xml"
    log.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    write_junit(log, report)
    return read_junit(report)


def _collected(test_id: str, **values: str) -> dict[str, object]:
    return {"event": "collected", "tests": [{"id": test_id, "suite": "smoke", **values}]}


@pytest.mark.parametrize("outcome", list(OutcomeName))
def test_every_outcome_comes_back_as_it_was(tmp_path: Path, outcome: OutcomeName) -> None:
    end = {
        "event": "test_end",
        "id": "smoke/a.py::b",
        "outcome": outcome.value,
        "duration": 1.5,
        "message": "why",
        "text": "all",
    }
    (item,) = _round_trip(tmp_path, _collected("smoke/a.py::b", capability="rng", title="A title."), end).outcomes
    assert (item.id, item.suite, item.outcome, item.duration) == ("smoke/a.py::b", "smoke", outcome, 1.5)
    assert (item.capability, item.title) == ("rng", "A title.")
    if outcome is not OutcomeName.PASSED:
        assert (item.message, item.text) == ("why", "all")


def test_another_reader_sees_the_same_counts(tmp_path: Path) -> None:
    names = [outcome.value for outcome in OutcomeName]
    tests = [{"id": f"smoke/a.py::{name}", "suite": "smoke"} for name in names]
    ends = [{"event": "test_end", "id": f"smoke/a.py::{name}", "outcome": name} for name in names]
    _round_trip(tmp_path, {"event": "collected", "tests": tests}, *ends)
    report = JUnitXml.fromfile(str(tmp_path / "junit.xml"))
    assert (report.tests, report.failures, report.errors, report.skipped) == (10, 2, 4, 3)


@pytest.mark.parametrize(
    "text", ["a\x1b[31mred\x00", "]]>", "<script>&amp;", "\ud7ff\ufffe\U0001f600", "line\r\nline\ttab"]
)
def test_any_text_makes_a_report_that_can_be_read(tmp_path: Path, text: str) -> None:
    end = {
        "event": "test_end",
        "id": "smoke/a.py::b",
        "outcome": "failed",
        "message": text,
        "text": text,
        "output": text,
    }
    report = _round_trip(tmp_path, _collected("smoke/a.py::b"), end)
    assert report.state.value == "complete"
    assert report.outcomes[0].outcome is OutcomeName.FAILED


def test_an_empty_log_is_a_report_without_tests(tmp_path: Path) -> None:
    assert _round_trip(tmp_path).state.value == "no_tests"
