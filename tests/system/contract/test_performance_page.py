"""docs/performance.md says what docs/performance.json says, and that says what the benchmark would."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "performance.md"
MEASURED = json.loads((ROOT / "docs" / "performance.json").read_text(encoding="utf-8"))


def _bench(name: str) -> ModuleType:
    path = ROOT / "tests" / "system" / "bench" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"bench_{name}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses look for it
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_of_its_numbers() -> None:
    bench = _bench("performance_page")
    assert PAGE.read_text(encoding="utf-8") == bench.page(MEASURED), "run `make performance`"
    assert MEASURED.keys() <= {"machine", *bench.SECTIONS}


def test_what_supervision_costs_has_a_section_once_it_is_measured() -> None:
    bench = _bench("performance_page")
    row = {
        "tests": 1200,
        "plain_s": 40.0,
        "supervised_s": 41.0,
        "plain_processor_s": 38.0,
        "supervised_processor_s": 38.76,
        "ratio": 1.02,
        "noise": 0.01,
    }
    page = bench.page({"machine": MEASURED["machine"], "suites": {"operators": row}})
    assert "## Supervision of the suites" in page
    assert page.endswith("| operators | 1,200 | 38.00 | 38.76 | 1.02 | 1% |\n")


def test_every_reader_was_measured() -> None:
    readers = list(_bench("readers").READERS)
    assert list(MEASURED["ingest"]) == readers
    assert {row["cases"] for name, row in MEASURED["ingest"].items() if name != readers[0]} == {200_000}


def test_every_reader_finds_every_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As it is where the benchmark runs: one of them writes an event log first.
    monkeypatch.syspath_prepend(ROOT / "tests" / "system" / "bench")
    readers, reports = _bench("readers"), _bench("reports")
    paths = reports.write_reports(tmp_path, 400, files=2)
    counts = {name: make(paths)() for name, make in readers.READERS.items()}
    assert counts == {name: 0 if name == "expat, empty handlers" else 400 for name in readers.READERS}
