"""collect: a folder that holds JUnit only is a run, and what it does not say is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import build, device, night, plan

from ootci.errors import StageFileMissing
from ootci.model.record import write
from ootci.model.run import Run
from ootci.model.workspace import RunFolder
from ootci.stages.collect import NOT_KNOWN, collect

OURS = (
    '<testsuites><testsuite><testcase classname="smoke.test_a" name="test_b"/>'
    '<testcase classname="tests.device.integration.test_c" name="test_d[x]"><failure message="no"/></testcase>'
    "</testsuite></testsuites>"
)


def _collect(tmp_path: Path, **reports: str) -> Run:
    for name, text in reports.items():
        (tmp_path / f"{name}.xml").write_text(text, encoding="utf-8")
    mine = {"name": "mine", "command": ["x"], "junit": "r.xml"}
    item = device(suites=[{"name": "smoke"}, {"name": "integration"}, mine]).device
    return collect(item, plan(), RunFolder(tmp_path), now=night(1), variables={"RUNNER_NAME": "here"})


def test_tests_of_all_suites_are_found(tmp_path: Path) -> None:
    mine = '<testsuite><testcase name="e"/></testsuite>'
    run = _collect(tmp_path, result=OURS, mine=mine)
    assert [(item.id, item.outcome.value) for item in run.outcomes] == [
        ("smoke/test_a.py::test_b", "passed"),
        ("integration/test_c.py::test_d[x]", "failed"),
        ("mine/e", "passed"),
    ]
    assert {suite.state.value for suite in run.suites} == {"complete"}
    assert [stage.status.value for stage in run.stages[-3:]] == ["passed", "failed", "passed"]
    # Collecting it once more reads what was given and not what was written.
    assert _collect(tmp_path).outcomes == run.outcomes


def test_what_is_not_known_is_named_and_not_made_up(tmp_path: Path) -> None:
    run = _collect(tmp_path, result=OURS)
    assert (run.torch, run.plugin, run.environment.runner, run.environment.python) == (None, None, None, None)
    said = {stage.name: (stage.status.value, stage.reason) for stage in run.stages[:4]}
    assert said["fetch"] == said["build"] == ("not_run", f"{NOT_KNOWN}: there is no build.json")
    assert said["import"] == said["check"] == ("not_run", f"{NOT_KNOWN}: there is no events.jsonl")
    assert [(suite.suite, suite.state.value) for suite in run.suites][-1] == ("mine", "missing")


@pytest.mark.parametrize("text", ["", "<testsuites>", "<!DOCTYPE x><testsuites/>", "<testsuite/>"])
def test_a_bad_report_is_never_complete(tmp_path: Path, text: str) -> None:
    states = {suite.state.value for suite in _collect(tmp_path, result=text).suites}
    assert "complete" not in states
    assert "not_expected" not in states


def test_a_build_that_is_there_is_used_and_an_empty_folder_is_none(tmp_path: Path) -> None:
    with pytest.raises(StageFileMissing):
        _collect(tmp_path)
    write(build(), tmp_path / "build.json")
    assert _collect(tmp_path, result=OURS).environment.python == "3.11.0"
