"""report.xml: everything in run.json that a JUnit reader can show, in the form that reporters on GitHub need."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junitparser.xunit2 import JUnitXml, TestCase
from unit.samples import run as sample_run

from ootci.model.excerpt import one_line
from ootci.model.outcome import Outcome, OutcomeName, Way
from ootci.model.record import read
from ootci.model.run import ReportState, Run
from ootci.stages.collect.report import STAGES, write_run_report

GOLDEN = Path(__file__).parents[2] / "golden"
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), min_size=1, max_size=30)
LINES = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn"), include_characters="\n\t"))


@st.composite
def _outcomes(draw: st.DrawFn) -> Outcome:
    outcome = draw(st.sampled_from(OutcomeName))
    passed = outcome is OutcomeName.PASSED
    text = None if passed else draw(st.none() | LINES)
    return Outcome(
        id=draw(WORDS | WORDS.map(lambda name: f"smoke/test_x.py::{name}")),
        suite=draw(st.sampled_from(["smoke", "ops", "<b>"])),
        outcome=outcome,
        capability=draw(st.none() | WORDS),
        title=draw(st.none() | WORDS),
        duration=draw(st.integers(0, 10**9)) / 1000,
        message=None if passed else one_line(draw(LINES)) or outcome.value,
        text=text if text and text.strip() else None,
        ran=draw(st.none() | st.sampled_from(Way)),
    )


def _run(outcomes: list[Outcome]) -> Run:
    return sample_run().model_copy(update={"outcomes": tuple(outcomes)})


def _by_suite(outcomes: list[Outcome]) -> list[Outcome]:
    suites = list(dict.fromkeys(outcome.suite for outcome in outcomes))
    return sorted(outcomes, key=lambda outcome: suites.index(outcome.suite))


class _Case:
    """A test case, and what it says of its outcome."""

    def __init__(self, suite: str, case: TestCase) -> None:
        properties = {item.name: item.value for item in case.properties()}
        self.suite = suite
        self.id = properties.get("id", f"{case.classname}::{case.name}")
        self.properties = properties
        self.duration = case.time
        (result,) = case.result or [None]
        self.is_failure = case.is_failure or case.is_error
        self.message = result.message if result else None
        self.text = result.text if result else None


def _cases(path: Path) -> list[_Case]:
    return [_Case(suite.name, case) for suite in JUnitXml.fromfile(str(path)) for case in suite]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(outcomes=st.lists(_outcomes(), max_size=6, unique_by=lambda outcome: outcome.id))
def test_what_is_written_is_read_back(tmp_path: Path, outcomes: list[Outcome]) -> None:
    path = tmp_path / "report.xml"
    write_run_report(_run(outcomes), path)
    for case, item in zip(_cases(path), _by_suite(outcomes), strict=True):
        told = {
            "id": item.id,
            "outcome": item.outcome.value,
            "capability": item.capability,
            "title": item.title,
            "ran": item.ran.value if item.ran else None,
        }
        assert case.properties == {name: value for name, value in told.items() if value is not None}
        assert (case.suite, case.duration, case.message, case.text) == (
            item.suite,
            item.duration,
            item.message,
            item.text,
        )


def test_the_golden_run_as_junit(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    golden = GOLDEN / "report" / "report.xml"
    run = read(Run, GOLDEN / "run" / "run.json")
    write_run_report(run, tmp_path / "report.xml")
    text = (tmp_path / "report.xml").read_text(encoding="utf-8")
    if pytestconfig.getoption("--update-golden"):
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
    back = [item for item in _cases(golden) if item.suite != STAGES]
    assert [(item.id, item.properties["outcome"]) for item in back] == [
        (item.id, item.outcome.value) for item in run.outcomes
    ]


def _stopped(stage: str, status: str, **states: str) -> Run:
    reports = {suite: {"state": state, "detail": f"why {state}"} for suite, state in states.items()}
    return sample_run(smoke={}, integration={}, stages={stage: status}, reports=reports)


@pytest.mark.parametrize("status", ["failed", "crashed", "timed_out"])
@pytest.mark.parametrize("stage", ["fetch", "build", "import", "check", "smoke"])
def test_a_run_without_tests_is_no_report_without_failures(tmp_path: Path, stage: str, status: str) -> None:
    write_run_report(_stopped(stage, status), tmp_path / "report.xml")
    (item,) = _cases(tmp_path / "report.xml")
    assert (item.id, item.suite, item.is_failure, item.message) == (
        f"stages::{stage}",
        STAGES,
        True,
        f"{stage} {status}",
    )


@pytest.mark.parametrize("state", [item for item in ReportState if item.value not in ("complete", "not_expected")])
def test_a_suite_whose_report_is_not_whole_is_an_error(tmp_path: Path, state: ReportState) -> None:
    write_run_report(_stopped("smoke", "passed", smoke=state.value), tmp_path / "report.xml")
    (item,) = _cases(tmp_path / "report.xml")
    assert (item.id, item.is_failure, item.message) == ("stages::report of smoke", True, f"why {state.value}")


def test_a_stage_that_only_failing_tests_failed_is_told_by_them(tmp_path: Path) -> None:
    write_run_report(sample_run(smoke={"one": "failed"}), tmp_path / "report.xml")
    assert {item.suite for item in _cases(tmp_path / "report.xml")} == {"smoke", "integration"}


def _hostile() -> Run:
    names = ["smoke/test_x.py::t[\x1b\x00\ud800]", "smoke/test_x.py", "::", ".py::x", "<b>&'\"]]>::a", "x" * 900]
    items = [
        Outcome(id=name, suite="smoke", outcome=outcome, text="\x00 ]]> <![CDATA[", message="\x07")
        for name, outcome in zip(names, OutcomeName, strict=False)
    ]
    stages = {"build": "failed", "check": "not_run"}
    run = sample_run(stages=stages, reports={"smoke": {"state": "truncated", "detail": "\x00"}})
    return run.model_copy(update={"outcomes": tuple(items)})


@pytest.mark.parametrize("run", [read(Run, GOLDEN / "run" / "run.json"), _hostile()], ids=["golden", "hostile"])
def test_reporters_find_what_they_need(tmp_path: Path, run: Run) -> None:
    """What three reporters read without asking whether it is there: see the head of collect/report.py."""
    write_run_report(run, tmp_path / "report.xml")
    root = ElementTree.parse(tmp_path / "report.xml").getroot()  # noqa: S314 (our own file)
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    for suite in suites:
        assert suite.get("name")
        assert float(suite.get("time", "")) >= 0
        cases = suite.findall("testcase")
        found = {kind: len(suite.findall(f"testcase/{tag}")) for kind, tag in _KINDS.items()}
        assert {kind: suite.get(kind) for kind in ("tests", *_KINDS)} == {
            kind: str(count) for kind, count in {"tests": len(cases), **found}.items()
        }
        for case in cases:
            assert case.get("name", "").strip()
            assert case.get("classname", "").strip()
            assert float(case.get("time", "")) >= 0
            assert all(result.get("message") for tag in _KINDS.values() for result in case.findall(tag))
    assert root.get("tests") == str(sum(int(suite.get("tests", "")) for suite in suites))
    assert sum(len(suite) for suite in JUnitXml.fromfile(str(tmp_path / "report.xml"))) == int(root.get("tests", ""))


_KINDS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def test_a_test_names_its_file_in_the_repository(tmp_path: Path) -> None:
    ids = ("smoke/test_x.py::one", "not a file::two")
    write_run_report(_run([Outcome(id=name, suite="s", outcome=OutcomeName.PASSED) for name in ids]), tmp_path / "r")
    files = [case.get("file") for case in ElementTree.parse(tmp_path / "r").iter("testcase")]  # noqa: S314
    assert files == ["tests/device/smoke/test_x.py", None]


def test_texts_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ootci.stages.collect.report.MAX_TEXTS", 10_000)
    items = [
        Outcome(id=f"t{number}", suite="s", outcome=OutcomeName.FAILED, message="m", text="x" * 4_000)
        for number in range(100)
    ]
    write_run_report(_run(items), tmp_path / "report.xml")
    texts = [item.text or "" for item in _cases(tmp_path / "report.xml")]
    assert [len(text) for text in texts[:2]] == [4_000, 4_000]
    assert all("[3600 characters cut]" in text and len(text) < 450 for text in texts[2:])
