"""JUnit as other producers write it: every test is found once, and nothing that did not pass reads as passed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from ootci.model.outcome import Outcome
from ootci.model.run import ReportState
from ootci.stages.collect.junit import read_junit

CASES = Path(__file__).parents[2] / "golden" / "junit"


@pytest.mark.parametrize("case", sorted(path.name for path in CASES.iterdir() if path.is_dir()))
def test_a_producer_is_understood(case: str, pytestconfig: pytest.Config) -> None:
    report = read_junit(CASES / case / "report.xml")
    assert report.state is ReportState.COMPLETE, report.detail
    golden = CASES / case / "outcomes.json"
    outcomes = TypeAdapter(list[Outcome]).dump_python(list(report.outcomes), mode="json", exclude_defaults=True)
    if pytestconfig.getoption("--update-golden"):
        golden.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
    assert outcomes == json.loads(golden.read_text(encoding="utf-8"))


def test_documents_in_one_file_are_read_in_turn_also_across_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = b'<testsuite name="smoke"><testcase name="a"/></testsuite>\n'
    path = tmp_path / "junit.xml"
    path.write_bytes(one + b'<?xml version="1.0"?>\n' + one + one)
    for chunk in (1, 7, 64, 1 << 20):
        monkeypatch.setattr("ootci.stages.collect.junit.CHUNK", chunk)
        report = read_junit(path)
        assert [item.id for item in report.outcomes] == ["a", "a #2", "a #3"], chunk
        assert report.state is ReportState.COMPLETE, (chunk, report.detail)


@pytest.mark.parametrize("rest", [b"text", b"<", b"<testsuite>", b"<!-- -->junk", b"</testsuite>"])
def test_what_follows_a_document_and_is_none_breaks_the_report_off(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "junit.xml"
    path.write_bytes(b'<testsuite name="smoke"><testcase name="a"/></testsuite>' + rest)
    report = read_junit(path)
    assert [item.id for item in report.outcomes] == ["a"]
    assert report.state is ReportState.TRUNCATED
