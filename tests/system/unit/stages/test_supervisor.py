"""The supervisor: a crash or a hang of one test costs that test only, and nothing that happened is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from processes import ends
from unit.stages.smoke_run import Played, clock, fake_python, smoke_run

from ootci.adapters import process
from ootci.adapters.progress import Progress
from ootci.errors import ToolMissing
from ootci.stages.test import supervisor
from ootci.stages.test.suite_run import SuiteRun
from ootci.stages.test.supervisor import Supervisor, last_lines, supervise


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SuiteRun:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.3)
    monkeypatch.setattr(supervisor, "STACK_SECONDS", 0.1)
    return smoke_run(tmp_path, python=fake_python(tmp_path))


def _play(
    suite: SuiteRun,
    *scripts: list[str],
    spare: str = "",
    ask_device: Callable[[], str | None] = lambda: None,
    **changes: Any,
) -> Played:
    variables = {**os.environ, "FAKE_SCRIPT": json.dumps(scripts), "FAKE_SPARE": spare}
    run = replace(suite, variables=variables, **changes)
    return Played(suite.scratch, supervise([Supervisor(run, clock=clock, ask_device=ask_device)], Progress(quiet=True)))


def test_a_suite_that_runs_to_its_end_takes_one_process(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a b", "start a", "end a=passed", "start b", "end b=failed", "finish 1"])
    assert played.outcomes == {"a": "passed", "b": "failed"}
    assert (played.end.reason, played.end.timed_out, played.end.failed) == (None, False, ("b",))
    (arguments,) = played.starts
    assert arguments.startswith("-m pytest ")
    assert f"--rootdir {suite.suites} {suite.suites}/smoke --device dev --events {suite.events}" in arguments
    assert "--ids-from" not in arguments


def test_a_crash_costs_the_test_that_was_running(suite: SuiteRun) -> None:
    played = _play(
        suite,
        ["collect a b c", "start a", "end a=passed", "start b", "stacks in kernel x", "crash"],
        ["collect c", "start c", "end c=passed", "finish 0"],
    )
    assert played.outcomes == {"a": "passed", "b": "crashed", "c": "passed"}
    assert played.asked(1) == ["c"]
    assert played.end.reason is None
    told = played.told["b"]
    assert told.message == "the process ended during this test: killed by SIGSEGV"
    assert told.text is not None
    assert "in kernel x" in told.text
    assert told.text.splitlines()[-4:] == [
        "Expected: A title.",
        "Capability: rng",
        "Documentation: capabilities/rng",
        "Reproduce (from the suites folder): python -m pytest b --device dev",
    ]


def test_each_process_has_temporary_files_of_its_own_in_the_run_s_folder(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a b", "start a", "crash"], ["collect b", "start b", "end b=passed", "finish 0"])
    places = [word for start in played.starts for word in start.split() if word.startswith("--basetemp=")]
    assert len(set(places)) == len(played.starts) == 2
    assert all(place.startswith(f"--basetemp={suite.scratch}/") for place in places)


_DEATHS = [f"collect {' '.join('abcdef')}", "start a", "crash"]


def _deaths(*names: str) -> list[list[str]]:
    """A process for each test, which waits until another spare was started and then crashes in that test."""
    return [[f"start {name}", f"wait {number}", "crash"] for number, name in enumerate(names, 1)]


def test_who_never_crashes_pays_for_no_spare(suite: SuiteRun) -> None:
    script = ["collect a b", "start a", "end a=passed", "start b", "end b=passed", "finish 0"]
    assert _play(suite, script).spares == []


def test_after_a_death_a_spare_stands_by_and_takes_over_at_the_next(suite: SuiteRun) -> None:
    played = _play(suite, _DEATHS, *_deaths("b", "c"), ["start d", "end d=passed", "finish 0"], spares=1)
    assert played.outcomes == dict.fromkeys("abc", "crashed") | {"d": "passed"} | dict.fromkeys("ef", "not_run")
    assert "--stand-by" not in played.starts[0] + played.starts[1]
    assert all("--stand-by" in line for line in played.starts[2:])
    assert played.asked(1) == list("bcdef")
    assert played.asked(2) == list("cdef")


def test_a_spare_is_told_only_of_the_files_that_still_have_tests(suite: SuiteRun) -> None:
    for name in ("smoke/one.py", "smoke/two.py"):
        (suite.suites / name).parent.mkdir(parents=True, exist_ok=True)
        (suite.suites / name).touch()
    played = _play(
        suite,
        ["collect smoke/one.py::a smoke/two.py::b", "start smoke/one.py::a", "crash"],
        ["start smoke/two.py::b", "end smoke/two.py::b=passed", "finish 0"],
    )
    assert played.outcomes == {"smoke/one.py::a": "crashed", "smoke/two.py::b": "passed"}
    assert f"{suite.suites}/smoke/two.py --device" in played.starts[1]
    assert "one.py" not in played.starts[1]


def test_spares_that_were_not_needed_end_with_the_suite(suite: SuiteRun) -> None:
    played = _play(suite, _DEATHS, ["start b", "wait 1", *(f"end {name}=passed" for name in "bcdef"), "finish 0"])
    assert played.spares
    assert played.end.reason is None
    assert "left behind" not in played.log


@pytest.mark.parametrize("spare", ["dies", "fails"])
def test_a_device_that_only_one_process_can_open_is_tested_without_spares(suite: SuiteRun, spare: str) -> None:
    rest = ([f"start {name}", "wait 1", "crash"] for name in "bcdef")
    played = _play(suite, _DEATHS, *rest, spare=spare, spares=1)
    assert played.outcomes == dict.fromkeys("abcdef", "crashed")
    assert len(played.spares) == 1
    assert not any("--stand-by" in line for line in played.starts)
    assert "so none will from now on" in played.log


def test_a_device_that_does_not_answer_any_more_ends_the_suite_with_the_reason(suite: SuiteRun) -> None:
    played = _play(
        suite, _DEATHS, ["start b", "crash"], ["start c", "crash"], deaths_in_a_row=3, ask_device=lambda: "it is lost"
    )
    assert played.outcomes == dict.fromkeys("abc", "crashed") | dict.fromkeys("def", "not_run")
    reason = "one test after the other ended its process, and the device does not answer: it is lost"
    assert played.end.reason == reason
    assert played.told["f"].message == f"not run: {reason}"


def test_a_device_that_answers_is_tested_to_the_end_whatever_it_does(suite: SuiteRun) -> None:
    asked: list[int] = []
    played = _play(
        suite,
        _DEATHS,
        *([f"start {name}", "crash"] for name in "bcdef"),
        deaths_in_a_row=2,
        ask_device=lambda: asked.append(1),
    )
    assert played.outcomes == dict.fromkeys("abcdef", "crashed")
    assert len(asked) == 2


def test_deaths_with_a_test_that_survives_between_them_are_not_in_a_row(suite: SuiteRun) -> None:
    survived = [["start b", "end b=passed", "start c", "crash"], ["start d", "end d=failed", "start e", "crash"]]
    played = _play(suite, _DEATHS, *survived, ["start f", "crash"], deaths_in_a_row=3, ask_device=lambda: "it is lost")
    assert played.end.reason is None


def test_what_left_its_process_group_does_not_survive_the_suite(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a", "start a", "daemon pid", "end a=passed", "finish 0"])
    assert played.outcomes == {"a": "passed"}
    assert ends(int((suite.scratch / "pid").read_text(encoding="utf-8")))
    assert "1 process(es) that the suite had left behind were ended" in played.log


def test_a_hang_costs_the_test_that_was_running(suite: SuiteRun) -> None:
    played = _play(
        suite,
        ["collect a b", "start a", "hang"],
        ["start b", "end b=passed", "finish 0"],
        test_seconds=6,
    )
    assert played.outcomes == {"a": "timed_out", "b": "passed"}
    assert "still running when the test's 6 s were up" in str(played.told["a"].message)
    assert not played.end.timed_out


def test_a_test_that_ends_while_its_stacks_are_asked_for_is_no_hang_and_nor_is_the_next(
    suite: SuiteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "STACK_SECONDS", 2.0)
    script = ["collect a b", "start a", "late", "end a=passed", "start b", "late", "end b=passed", "finish 0"]
    played = _play(suite, script, test_seconds=1)
    assert played.outcomes == {"a": "passed", "b": "passed"}
    assert len(played.starts) == 1


def test_the_suite_s_own_time_ends_it_and_what_did_not_run_says_why(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a b", "start a", "hang"], suite_seconds=3)
    assert played.outcomes == {"a": "timed_out", "b": "not_run"}
    assert played.end.timed_out
    assert played.told["b"].message == f"not run: {played.end.reason}" == "not run: the suite was ended after 3 s"
    assert len(played.starts) == 1


def test_exit_code_0_in_the_middle_of_a_test_is_a_crash(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a b", "start a", "exit 0"], ["start b", "end b=passed", "finish 0"])
    assert played.outcomes == {"a": "crashed", "b": "passed"}
    assert "exit code 0" in str(played.told["a"].message)


def test_a_crash_between_two_tests_runs_the_rest(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a b", "start a", "end a=passed", "crash"], ["start b", "end b=passed", "finish 0"])
    assert played.outcomes == {"a": "passed", "b": "passed"}
    assert played.asked(1) == ["b"]


def test_a_process_that_always_dies_between_tests_is_not_started_for_ever(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a b", "start a", "end a=passed", "crash"], ["crash"])
    assert played.outcomes == {"a": "passed", "b": "not_run"}
    assert played.told["b"].message == "not run: pytest ended between two tests: killed by SIGSEGV"
    assert played.end.reason == "pytest ended between two tests: killed by SIGSEGV"
    assert len(played.starts) == 2


@pytest.mark.parametrize("step", ["crash", "exit 0", "exit 3"])
def test_a_death_after_the_last_test_is_told(suite: SuiteRun, step: str) -> None:
    played = _play(suite, ["collect a", "start a", "end a=passed", step])
    assert played.outcomes == {"a": "passed"}
    assert str(played.end.reason).startswith("every test reported, and then the process ended: ")


def test_a_hang_after_the_last_test_is_told(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a", "start a", "end a=passed", "hang"], test_seconds=3)
    assert played.outcomes == {"a": "passed"}
    assert "timed out" in str(played.end.reason)


def test_a_death_after_pytest_s_own_end_is_told(suite: SuiteRun) -> None:
    script = ["collect a", "start a", "end a=passed", r'raw {"event": "session_end", "exit_status": 0}\n', "crash"]
    assert "killed by SIGSEGV" in str(_play(suite, script).end.reason)


def test_pytest_that_stops_early_in_an_orderly_way_is_told(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a b", "start a", "end a=passed", "finish 0"])
    assert played.end.reason == "pytest ended by itself before 1 of 2 tests had run"
    assert played.outcomes == {"a": "passed", "b": "not_run"}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (["print oops", "exit 0"], "pytest ended before it had collected any test: exit code 0; oops"),
        (["crash"], "pytest ended before it had collected any test: killed by SIGSEGV; nothing was printed"),
        (["broken smoke/x.py", "finish 2"], "1 file(s) could not be collected, first smoke/x.py: SyntaxError: no"),
        (["collect a", "finish 3"], "pytest ended with exit status 3"),
    ],
)
def test_a_process_that_runs_no_test_says_how_it_ended(suite: SuiteRun, script: list[str], reason: str) -> None:
    played = _play(suite, script)
    assert set(played.outcomes.values()) <= {"not_run"}
    assert played.end.reason == reason
    assert len(played.starts) == 1


def test_a_collection_that_hangs_is_ended(suite: SuiteRun) -> None:
    played = _play(suite, ["hang"], collect_seconds=0.4)
    assert played.end.reason is not None
    assert played.outcomes == {}


def test_a_collection_may_take_longer_than_a_test(suite: SuiteRun) -> None:
    played = _play(
        suite,
        ["sleep 2", "collect a b", "start a", "crash"],
        ["sleep 2", "collect b", "start b", "end b=passed", "finish 0"],
        test_seconds=1,
        spares=0,
    )
    assert (played.outcomes, played.end.reason) == ({"a": "crashed", "b": "passed"}, None)


def test_nothing_collected_is_no_outcome_and_left_to_the_caller(suite: SuiteRun) -> None:
    played = _play(suite, ["collect ", "finish 5"])
    assert (played.outcomes, dict(played.end.collected)) == ({}, {})


def test_endless_output_neither_fills_the_disk_nor_stops_the_suite(
    suite: SuiteRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_LOG_BYTES", 1 << 20)
    played = _play(suite, ["collect a", "start a", "shout 100", "end a=passed", "print last words", "finish 0"])
    assert played.outcomes == {"a": "passed"}
    assert played.end.tail.rstrip().endswith("last words")
    assert (suite.logs / "smoke.log").stat().st_size < 2 << 20


@pytest.mark.parametrize("raw", [r"garbage\n", r'{"event": "test_end", "id": "b", "outco', r"\xff\xfe\x00\n", r"[]\n"])
def test_garbage_in_the_event_log_is_passed_over(suite: SuiteRun, raw: str) -> None:
    played = _play(
        suite,
        ["collect a b", "start a", "end a=passed", "start b", f"raw {raw}", "crash"],
        ["finish 0"],
    )
    assert played.outcomes == {"a": "passed", "b": "crashed"}


def test_a_half_written_line_waits_for_its_rest(suite: SuiteRun) -> None:
    half = r'raw {"event": "test_end", "id": "a", "outcome": "pas'
    played = _play(suite, ["collect a", "start a", half, r'raw sed"}\n', "finish 0"])
    assert played.outcomes == {"a": "passed"}


def test_events_of_the_suite_before_are_not_taken_for_this_one(suite: SuiteRun) -> None:
    suite.events.write_text('{"event": "test_end", "id": "other", "outcome": "failed"}\n', encoding="utf-8")
    played = _play(suite, ["collect a", "start a", "end a=passed", "finish 0"])
    assert played.outcomes == {"a": "passed"}


def test_an_id_with_blanks_is_reproduced_in_quotes(suite: SuiteRun) -> None:
    test_id = "smoke/x.py::y[a b;c]"
    raw = json.dumps({"event": "collected", "tests": [{"id": test_id, "suite": "smoke"}]})
    played = _play(suite, [rf"raw {raw}\n", f"start {test_id}", "crash"], ["finish 0"])
    assert f"python -m pytest '{test_id}' --device dev" in str(played.told[test_id].text)


def test_a_python_that_is_gone_is_told_as_such(suite: SuiteRun) -> None:
    with pytest.raises(ToolMissing):
        _play(replace(suite, python="/no/such/python"), ["finish 0"])


def test_a_test_that_failed_and_then_passed_has_failed(suite: SuiteRun) -> None:
    played = _play(suite, ["collect a", "start a", "end a=failed", "end a=passed", "finish 1"])
    assert (played.outcomes, played.end.failed) == ({"a": "failed"}, ("a",))


@pytest.fixture
def run(tmp_path: Path) -> SuiteRun:
    """The suite smoke."""
    return smoke_run(tmp_path)


def test_a_test_from_a_checkout_is_named_by_an_option(run: SuiteRun) -> None:
    upstream = replace(run, suite="upstream", options=("--upstream-tests=/t", "--upstream-files=x.py,y.py"))
    assert last_lines("upstream/x.py::A::b", None, upstream) == (
        "Reproduce (from the suites folder): "
        "python -m pytest upstream --upstream-tests=/t --upstream-files=x.py --id upstream/x.py::A::b --device dev"
    )
