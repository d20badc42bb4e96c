"""``ootci diff``: what is printed of two runs, and the exit code that scripts go by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.samples import changed, on_torch, plan, run, stored

from ootci.model.device import KnownFailure
from ootci.model.record import write

from commands import Tool  # isort: skip

MESSAGE = "AssertionError: 3.0 is not 2.9"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A night on which all is well, and one on which 25 tests fail in the same way."""
    names = [f"t{number:02}" for number in range(30)]
    first = run(0, smoke=dict.fromkeys(names, "passed"), integration={"gone": "passed", "mended": "failed"})
    failing = dict.fromkeys(names[:25], "failed")
    second = run(1, smoke={**dict.fromkeys(names, "passed"), **failing}, integration={"mended": "passed"})
    for number, record in enumerate((first, second)):
        made = on_torch(record, f"2.15.0.dev2026110{number}+cpu", str(number) * 40)
        stored(tmp_path / "data", plan(number), changed(made, message=MESSAGE))
    return tmp_path


def test_people_see_the_runs_whether_it_got_worse_and_the_tests(ootci: Tool, folder: Path) -> None:
    ran = ootci("diff", "dev@previous", "dev@latest", cwd=folder)
    assert (ran.code, ran.err) == (1, "")
    lines = ran.out.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["A", "B"],
        ["run", "dev@night000", "dev@night001"],
        ["torch", "2.15.0.dev20261100+cpu", "2.15.0.dev20261101+cpu"],
    ]
    assert "plugin         none                                      the same" in lines
    assert lines[lines.index("B is worse than A:") + 1] == "  25 tests fail in B and did not fail in A"
    assert "5 of 32 tests are unchanged and do not fail" in lines
    assert (
        f"PyTorch's commits between them: https://github.com/pytorch/pytorch/compare/{'0' * 40}...{'1' * 40}" in lines
    )
    start = lines.index("regression: 25 of 32 tests passed in A and fail in B")
    assert lines[start + 1 : start + 3] == [f"  {MESSAGE}", "    smoke/test_x.py::t00  passed -> failed"]
    assert lines[start + 22] == "  and 5 more, which --all prints"
    assert "fixed: 1 of 32 tests failed in A and pass in B" in lines
    assert lines[-1] == "  integration/test_x.py::gone  passed -> absent"


def test_all_prints_all(ootci: Tool, folder: Path) -> None:
    ran = ootci("diff", "dev@previous", "dev@latest", "--all", cwd=folder)
    assert sum(" -> failed" in line for line in ran.out.splitlines()) == 25
    assert "--all" not in ran.out


def test_each_direction_has_its_own_answer_and_a_run_is_not_worse_than_itself(ootci: Tool, folder: Path) -> None:
    ran = ootci("diff", "dev@latest", "dev@previous", cwd=folder)
    # One test fails there that was mended since, so that going back is worse in that one.
    assert (ran.code, "B is worse than A:\n  1 test fails in B" in ran.out) == (1, True)
    same = ootci("diff", "dev@latest", "night001-dev", cwd=folder)
    assert (same.code, "A and B are the same run." in same.out) == (0, True)


def test_json_holds_every_test_and_says_the_same(ootci: Tool, folder: Path) -> None:
    ran = ootci("diff", "dev@previous", "dev@latest", "--format", "json", cwd=folder)
    found = json.loads(ran.out)
    assert (ran.code, found["worse"]) == (
        1,
        ["25 tests fail in B and did not fail in A", "1 test of A is not in B"],
    )
    assert (len(found["tests"]), found["unchanged"]) == (27, 5)
    assert (found["before"]["id"], found["after"]["plan_id"]) == ("night000-dev", "night001")


def test_markdown_keeps_foreign_text_in_code(ootci: Tool, folder: Path) -> None:
    hostile = run(2, smoke={"one": "failed"})
    (first, *others) = hostile.outcomes
    outcomes = (first.model_copy(update={"message": "`<script>` **x** \x1b[31m\n::error::y"}), *others)
    write(hostile.model_copy(update={"outcomes": outcomes}), folder / "run.json")
    ran = ootci("diff", "dev@latest", "run.json", "--format", "markdown", cwd=folder)
    assert ran.out.splitlines()[0] == "|  | A | B |"
    assert "- `'<script>' **x** ::error::y`\n  - `smoke/test_x.py::one`  absent -> failed" in ran.out


def test_what_the_vendor_knew_does_not_count(ootci: Tool, folder: Path) -> None:
    entry = {"id": "smoke/*", "reason": "r", "issue": "https://example.com/1", "added": "2026-10-01"}
    known = KnownFailure.model_validate({**entry, "expires": "2026-12-01"})
    planned = plan(3)
    (expected,) = planned.runs
    planned = planned.model_copy(update={"runs": (expected.model_copy(update={"known_failures": (known,)}),)})
    tests = {f"t{number:02}": "passed" for number in range(30)}
    integration = {"gone": "passed", "mended": "passed"}
    stored(folder / "data", planned, run(3, smoke={**tests, "t00": "failed"}, integration=integration))
    ran = ootci("diff", "dev@night000", "dev@night003", cwd=folder)
    assert ran.code == 0
    assert "not counted: 1 test newly failing in B, known failures or of an advisory suite" in ran.out
    assert "smoke/test_x.py::t00  passed -> failed (known)" in ran.out


def test_a_suite_that_did_not_run_is_one_line(ootci: Tool, folder: Path) -> None:
    stages = {"build": "failed", "import": "not_run", "check": "not_run", "smoke": "not_run", "integration": "not_run"}
    reports = {"smoke": {"state": "not_expected"}, "integration": {"state": "not_expected"}}
    stored(folder / "data", plan(4), run(4, smoke={}, integration={}, stages=stages, reports=reports))
    ran = ootci("diff", "dev@night000", "dev@latest", cwd=folder)
    assert (ran.code, "  the stage build failed in B: build failed" in ran.out) == (1, True)
    tail = ran.out.partition("disappeared: 32 of 32 tests are in A and not in B\n")[2].splitlines()
    assert tail[0] == "  30 tests of the suite smoke"
    assert len(tail) == 3
    every = ootci("diff", "dev@night000", "dev@latest", "--all", cwd=folder)
    assert every.out.count(" -> absent") == 32
