"""A suite that a vendor brings: run within limits, told apart by its end, never green without a passed test."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import ends
from unit.samples import build, device, night, plan, stored

from ootci.adapters.progress import Progress
from ootci.errors import ToolMissing
from ootci.model.build import StageStatus
from ootci.model.device import Suite
from ootci.model.event import StageEnd, StageStart, append_event
from ootci.model.plan import PlannedSuite
from ootci.model.record import write
from ootci.model.run import Run
from ootci.model.verdict import VerdictName
from ootci.model.workspace import RunFolder
from ootci.stages.collect import collect
from ootci.stages.judge import judge
from ootci.stages.test.own_suite import run_own_suite
from ootci.stages.test.questions import Questions

PROBE = """
import json, pathlib, sys
pathlib.Path(sys.argv[sys.argv.index("--out") + 1]).write_text(json.dumps(dict(reached="{0}")))
"""
GOOD = '<testsuite><testcase classname="a" name="one"/><testcase classname="a" name="two"/></testsuite>'
BAD = GOOD.replace('name="two"/>', 'name="two"><failure message="no"/></testcase>')
Played = Callable[..., tuple[Run, VerdictName]]


@pytest.fixture
def play(tmp_path: Path) -> Played:
    """Runs a Python script as the suite, collects the run, and judges it."""

    def played(
        script: str, *, junit: str = "r.xml", answers: bool = True, minutes: float = 1, command: str = sys.executable
    ) -> tuple[Run, VerdictName]:
        suite = {"name": "mine", "command": [command, "-c", script], "junit": junit}
        item = device(suites=[suite])
        if minutes != 1:
            limits = item.device.limits.model_copy(update={"suite_minutes": minutes})
            item = item.model_copy(update={"device": item.device.model_copy(update={"limits": limits})})
        folder, scratch, suites = RunFolder(tmp_path / "run"), tmp_path / "scratch", tmp_path / "suites"
        for path in (folder.path, folder.scratch, scratch, suites):
            path.mkdir(parents=True)
        (suites / "probe.py").write_text(PROBE.format("computed" if answers else "imported"))
        asked = Questions(item.device, sys.executable, folder, suites, {"PATH": "/usr/bin:/bin"}, Progress(quiet=True))
        write(build(), folder.build)
        for name in ("import", "check"):
            append_event(folder.events, StageStart(stage=name), night(0))
            append_event(folder.events, StageEnd(stage=name, status=StageStatus.PASSED), night(0))
        append_event(folder.events, StageStart(stage="mine"), night(0))
        (given,) = item.device.suites
        finish = run_own_suite(given, given.command or (), asked, scratch, lambda: night(0))
        end = StageEnd(stage="mine", status=finish.status, reason=finish.reason, only_tests=finish.only_tests)
        append_event(folder.events, end, night(0))
        made = plan(suites=(PlannedSuite(name="mine"),))
        run = collect(item.device, made, folder, now=night(1))
        return run, judge((item,), stored(tmp_path / "history", made, run), night(0)).devices[0].verdict

    return played


def _writes(text: str, then: str = "") -> str:
    return f"import pathlib; pathlib.Path('r.xml').write_text({text!r}); {then}"


def test_a_suite_that_passes_is_ok(play: Played) -> None:
    run, verdict = play(_writes(GOOD))
    assert [(item.id, item.suite, item.outcome.value) for item in run.outcomes] == [
        ("mine/a::one", "mine", "passed"),
        ("mine/a::two", "mine", "passed"),
    ]
    assert (run.suites[0].state.value, run.stages[-1].status.value, verdict) == ("complete", "passed", VerdictName.OK)


def test_a_failing_test_fails_the_suite_and_nothing_else_is_wrong_with_it(play: Played) -> None:
    run, verdict = play(_writes(BAD, "raise SystemExit(1)"))
    assert (run.stages[-1].status.value, run.stages[-1].only_tests) == ("failed", True)
    assert (run.stages[-1].reason, verdict) == ("1 of 2 tests failed", VerdictName.FAILING)


def test_a_failing_test_counts_though_the_command_says_that_all_is_well(play: Played) -> None:
    run, verdict = play(_writes(BAD))
    assert (run.stages[-1].status.value, verdict) == ("failed", VerdictName.FAILING)


def test_a_command_that_fails_though_no_test_does_is_no_success(play: Played) -> None:
    run, verdict = play(_writes(GOOD, "raise SystemExit(3)"))
    assert "exit code 3; though no test in its report failed" in str(run.stages[-1].reason)
    assert verdict is VerdictName.FAILING


@pytest.mark.parametrize(("answers", "said"), [(True, False), (False, True)])
def test_a_crash_is_told_apart_and_the_device_is_asked(play: Played, answers: bool, said: bool) -> None:
    run, verdict = play(_writes(GOOD[:-20], "import os; os.abort()"), answers=answers)
    stage = run.stages[-1]
    assert (stage.status.value, run.suites[0].state.value) == ("crashed", "truncated")
    assert "killed by SIGABRT" in str(stage.reason)
    assert ("the device does not answer" in str(stage.reason)) is said
    assert verdict is VerdictName.LOST_TESTS


def test_a_hang_ends_with_all_that_it_started(play: Played, tmp_path: Path) -> None:
    child = "import subprocess, time; p = subprocess.Popen(['sleep', '600'], start_new_session=True); "
    script = f"{child}open({str(tmp_path / 'pid')!r}, 'w').write(str(p.pid)); time.sleep(600)"
    started = time.monotonic()
    run, verdict = play(script, minutes=0.03)
    assert time.monotonic() - started < 30
    assert (run.stages[-1].status.value, verdict) == ("timed_out", VerdictName.LOST_TESTS)
    assert ends(int((tmp_path / "pid").read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("script", "state", "verdict"),
    [
        ("pass", "missing", VerdictName.LOST_TESTS),
        (_writes(""), "empty", VerdictName.LOST_TESTS),
        (_writes("<testsuite/>"), "no_tests", VerdictName.NO_DATA),
        (_writes(GOOD[:-5]), "truncated", VerdictName.LOST_TESTS),
        (_writes("<!DOCTYPE a>" + GOOD), "unreadable", VerdictName.LOST_TESTS),
        ("import os; os.symlink('/etc/hostname', 'r.xml')", "unreadable", VerdictName.LOST_TESTS),
        (
            _writes("<testsuite><testcase name='a'><skipped/></testcase></testsuite>"),
            "complete",
            VerdictName.LOST_TESTS,
        ),
    ],
)
def test_silence_is_never_success(play: Played, script: str, state: str, verdict: VerdictName) -> None:
    run, found = play(script)
    assert (run.suites[0].state.value, found) == (state, verdict)
    assert run.suites[0].detail or state == "complete"


@pytest.mark.parametrize("junit", ["reports", "reports/*.xml"])
def test_reports_of_a_folder_are_one(play: Played, junit: str) -> None:
    made = "import os; os.mkdir('reports')"
    for name in ("b", "c"):
        text = GOOD.replace('"a"', f'"{name}"')
        made += f"; open('reports/{name}.xml', 'w').write({text!r})"
    run, verdict = play(made, junit=junit)
    assert (len(run.outcomes), run.suites[0].state.value, verdict) == (4, "complete", VerdictName.OK)


def test_a_command_that_is_not_there(play: Played) -> None:
    with pytest.raises(ToolMissing):
        play("pass", command="/no/such/program")


def test_a_suite_needs_both_keys_and_a_name_of_its_own() -> None:
    for values, said in (
        ({"name": "smoke", "command": ["x"], "junit": "r.xml"}, "is a suite of this repository"),
        ({"name": "mine"}, "needs `command` and `junit`"),
        ({"name": "check", "command": ["x"], "junit": "r.xml"}, "which a stage has"),
        ({"name": "mine", "command": ["x"], "junit": "../r.xml"}, "must not leave"),
    ):
        with pytest.raises(ValueError, match=said):
            Suite.model_validate(values)
