"""docs/performance.md says what docs/performance.json says, and that says what the benchmark would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from programs import program

ROOT = Path(__file__).parents[3]
BENCH = ROOT / "tests" / "system" / "bench"
PAGE = ROOT / "docs" / "performance.md"
MEASURED = json.loads((ROOT / "docs" / "performance.json").read_text(encoding="utf-8"))


def test_the_page_is_made_of_its_numbers() -> None:
    bench = program(BENCH / "performance_page.py")
    assert PAGE.read_text(encoding="utf-8") == bench.page(MEASURED), "run `make performance`"
    assert MEASURED.keys() <= {"machine", *bench.SECTIONS}


def test_every_reader_was_measured() -> None:
    readers = list(program(BENCH / "readers.py").READERS)
    assert list(MEASURED["ingest"]) == readers
    assert {row["cases"] for name, row in MEASURED["ingest"].items() if name != readers[0]} == {200_000}


def test_every_reader_finds_every_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As it is where the benchmark runs: one of them writes an event log first.
    monkeypatch.syspath_prepend(ROOT / "tests" / "system" / "bench")
    readers, reports = program(BENCH / "readers.py"), program(BENCH / "reports.py")
    paths = reports.write_reports(tmp_path, 400, files=2)
    counts = {name: make(paths)() for name, make in readers.READERS.items()}
    assert counts == {name: 0 if name == "expat, empty handlers" else 400 for name in readers.READERS}
