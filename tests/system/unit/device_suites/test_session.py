"""A pytest session of the suites: what it tells, refuses and leaves behind. Runs without torch."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from small_suites import BAD_FIXTURES, SmallSuites, read_events

PASSES = '''
def test_passes():
    """It works."""
'''
FAILS = '''
def test_fails():
    """It works as it should."""
    print("said something")
    assert 1 == 2, "one is not two"
'''
ALL_OUTCOMES = (
    PASSES
    + FAILS
    + BAD_FIXTURES
    + '''
def test_error_before(broken):
    """Its set-up fails."""


def test_error_after(leaves_a_mess):
    """Its tear-down fails."""


def test_skipped():
    """It is skipped."""
    pytest.skip("not here")


def test_unsupported():
    """The device refuses."""
    unsupported("the manual says so")


@pytest.mark.xfail(reason="known")
def test_xfailed():
    """A known defect."""
    assert False


@pytest.mark.xfail(reason="mended", strict=True)
def test_xpassed():
    """A known defect that is gone."""


@pytest.mark.device_only("nothing to move")
def test_device_only():
    """Means nothing on the cpu."""


@pytest.mark.parametrize("value", [1, "two words"])
def test_with_parameter(value):
    """It has parameters."""
'''
)


def test_order_and_outcomes(suites: SmallSuites) -> None:
    suites.write("smoke/test_all.py", ALL_OUTCOMES)
    session = suites.run()
    assert session.code == 1, session.out
    assert "UNSUPPORTED [1] smoke/test_all.py::test_unsupported: the manual says so\n" in session.out
    kinds = [event["event"] for event in session.events]
    assert kinds[:2] == ["session_start", "collected"]
    assert kinds[2:-1] == ["test_start", "test_end"] * 11
    assert kinds[-1] == "session_end"
    assert session.events[-1]["exit_status"] == 1
    for start, end in zip(session.of("test_start"), session.of("test_end"), strict=True):
        assert start["id"] == end["id"]
    assert all(event["time"].endswith("Z") and len(event["time"]) == 24 for event in session.events)
    ends = session.ends()
    prefix = "smoke/test_all.py::test_"
    assert {test_id.removeprefix(prefix): end["outcome"] for test_id, end in ends.items()} == {
        "passes": "passed",
        "fails": "failed",
        "error_before": "error",
        "error_after": "error",
        "skipped": "skipped",
        "unsupported": "unsupported",
        "xfailed": "xfailed",
        "xpassed": "xpassed",
        "device_only": "skipped",
        "with_parameter[1]": "passed",
        "with_parameter[two words]": "passed",
    }
    assert {test_id.removeprefix(prefix): end["message"] for test_id, end in ends.items() if end["message"]} == {
        "fails": "AssertionError: one is not two",
        "error_before": "ValueError: no fixture",
        "error_after": "ValueError: a mess",
        "skipped": "not here",
        "unsupported": "the manual says so",
        "xfailed": "known",
        "xpassed": "[XPASS(strict)] mended",
        "device_only": "does not apply to the cpu: nothing to move",
    }
    assert "said something" in ends[f"{prefix}fails"]["output"]
    assert session.of("collected")[0]["tests"][0] == {
        "id": "smoke/test_all.py::test_passes",
        "suite": "smoke",
        "capability": "views",
        "title": "It works.",
    }


def test_failure_ends_in_a_command_that_shows_it_again(suites: SmallSuites) -> None:
    suites.write("smoke/test_one.py", PASSES + FAILS)
    end = suites.run().ends()["smoke/test_one.py::test_fails"]
    *_, last = end["text"].splitlines()
    assert last.startswith("Reproduce (from the suites folder): python -m pytest ")
    assert "Expected: It works as it should." in end["text"]
    python, *rest = shlex.split(last.partition(": ")[2])
    assert python == "python"
    suites.log.unlink()
    again = suites.run(*rest[2:], device=None)
    assert set(again.ends()) == {"smoke/test_one.py::test_fails"}
    assert again.code == 1


def test_ids_do_not_depend_on_the_working_directory(suites: SmallSuites, tmp_path: Path) -> None:
    suites.write("smoke/test_one.py", PASSES)
    ini = str(suites.folder / "pytest.ini")
    session = suites.run(
        "-c", ini, "--rootdir", str(suites.folder), "-p", "no:faulthandler", str(suites.folder / "smoke"), cwd=tmp_path
    )
    assert set(session.ends()) == {"smoke/test_one.py::test_passes"}


def test_nothing_is_written_into_a_read_only_folder(suites: SmallSuites) -> None:
    suites.write("smoke/test_one.py", PASSES + FAILS)
    before = sorted(suites.folder.rglob("*"))
    suites.run()
    assert sorted(suites.folder.rglob("*")) == before


def test_long_texts_are_cut(suites: SmallSuites) -> None:
    suites.write(
        "smoke/test_long.py",
        '''
def test_talks():
    """It talks."""
    print("A" * 300_000 + "the end")
    raise AssertionError("B" * 300_000 + "\\ud800")
''',
    )
    end = suites.run().ends()["smoke/test_long.py::test_talks"]
    assert len(end["text"].encode()) <= 64 * 1024
    assert len(end["output"].encode()) <= 64 * 1024
    assert "characters cut" in end["text"]
    assert "characters cut" in end["output"]
    assert end["output"].endswith("the end\n")
    assert end["text"].splitlines()[-1].startswith("Reproduce")
    assert len(end["message"]) <= 500


def test_crash_names_the_test_and_keeps_the_rest(suites: SmallSuites) -> None:
    suites.write(
        "smoke/test_crash.py",
        PASSES
        + '''
def test_crashes():
    """It dies."""
    os.kill(os.getpid(), signal.SIGSEGV)


def test_comes_later():
    """It never gets its turn."""
''',
    )
    stacks = suites.log.with_name("stacks.txt")
    session = suites.run("--stack-file", str(stacks), "-p", "no:faulthandler")
    assert session.code == -signal.SIGSEGV
    assert set(session.ends()) == {"smoke/test_crash.py::test_passes"}
    assert session.events[-1]["event"] == "test_start"
    assert session.events[-1]["id"] == "smoke/test_crash.py::test_crashes"
    assert len(session.of("collected")[0]["tests"]) == 3
    assert "test_crashes" in stacks.read_text(encoding="utf-8")


def test_report_is_made_again_where_the_parser_fails(suites: SmallSuites) -> None:
    suites.write(
        "smoke/test_a.py",
        PASSES
        + '''
def test_fails(monkeypatch):
    """It works as it should."""
    import ast

    errors = [SystemError("AST constructor recursion depth mismatch (before=129, after=36)")]

    def parse(*arguments, **named):
        if errors:
            raise errors.pop()
        return original(*arguments, **named)

    original = ast.parse
    monkeypatch.setattr(ast, "parse", parse)
    assert 1 == 2, "one is not two"
''',
    )
    session = suites.run()
    assert session.code == 1, session.out
    ends = session.ends()
    assert [end["outcome"] for end in ends.values()] == ["passed", "failed"]
    assert "one is not two" in ends["smoke/test_a.py::test_fails"]["text"]


def test_hang_shows_its_stack_when_asked(suites: SmallSuites) -> None:
    suites.write(
        "smoke/test_hang.py",
        '''
def test_hangs():
    """It hangs."""
    open("hanging", "w").close()
    time.sleep(300)
''',
    )
    stacks, hanging = suites.log.with_name("stacks.txt"), suites.folder / "hanging"
    command = suites.command("--stack-file", str(stacks), "-p", "no:faulthandler")
    process = subprocess.Popen(command, cwd=suites.folder, env=suites.environment(), stdout=subprocess.DEVNULL)
    try:
        _wait_until(hanging.exists)
        process.send_signal(signal.SIGUSR1)
        _wait_until(lambda: stacks.exists() and "test_hangs" in stacks.read_text(encoding="utf-8"))
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert "session_end" not in {event["event"] for event in read_events(suites.log)}


def _wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def test_ids_from_a_file(suites: SmallSuites, tmp_path: Path) -> None:
    suites.write("smoke/test_all.py", ALL_OUTCOMES)
    wanted = ["smoke/test_all.py::test_with_parameter[two words]", "smoke/test_all.py::test_passes"]
    (tmp_path / "ids").write_text("\n".join(wanted) + "\n\n", encoding="utf-8")
    session = suites.run(f"--ids-from={tmp_path / 'ids'}")
    assert session.code == 0
    assert [test["id"] for test in session.of("collected")[0]["tests"]] == wanted[::-1]
    assert list(session.ends()) == wanted[::-1]


def test_unknown_ids_are_told(suites: SmallSuites, tmp_path: Path) -> None:
    suites.write("smoke/test_one.py", PASSES)
    (tmp_path / "ids").write_text("smoke/test_one.py::test_passes\nsmoke/test_gone.py::test_x\n", encoding="utf-8")
    session = suites.run(f"--ids-from={tmp_path / 'ids'}")
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert session.of("unknown_ids")[0]["ids"] == ["smoke/test_gone.py::test_x"]
    assert "smoke/test_gone.py::test_x" in session.err
    assert session.events[-1]["exit_status"] == pytest.ExitCode.USAGE_ERROR
    assert not session.ends()


def _standing_by(suites: SmallSuites, ids: str) -> tuple[int, bool]:
    """Let a process collect and then take ids; its exit code, and whether it had told anything before."""
    reading, writing = os.pipe()
    command = suites.command("smoke", "--stand-by", str(reading), "--attempt", "2")
    process = subprocess.Popen(
        command, cwd=suites.folder, env=suites.environment(), stdout=subprocess.PIPE, pass_fds=[reading]
    )
    os.close(reading)
    _wait_until((suites.folder / "collected").exists)
    told = suites.log.exists() and suites.log.stat().st_size > 0
    with os.fdopen(writing, "w") as stream:
        stream.write(ids)
    process.communicate(timeout=60)
    return process.returncode, told


COLLECTED = 'from pathlib import Path\nPath("collected").touch()\n'


def test_standing_by_tells_nothing_until_it_is_told_what_to_run(suites: SmallSuites) -> None:
    suites.write("smoke/test_one.py", COLLECTED + PASSES + FAILS)
    assert _standing_by(suites, "smoke/test_one.py::test_passes\n") == (0, False)
    events = read_events(suites.log)
    assert [item["event"] for item in events] == ["session_start", "collected", "test_start", "test_end", "session_end"]
    assert [test["id"] for test in events[1]["tests"]] == ["smoke/test_one.py::test_passes"]
    assert [events[2]["attempt"], events[3]["attempt"]] == [2, 2]


@pytest.mark.parametrize("ids", ["", "smoke/test_one.py::test_gone\n"])
def test_standing_by_for_nothing_tells_nothing(suites: SmallSuites, ids: str) -> None:
    suites.write("smoke/test_one.py", COLLECTED + PASSES)
    code, told = _standing_by(suites, ids)
    assert code in (pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.USAGE_ERROR)
    assert not told
    assert read_events(suites.log) == ()


@pytest.mark.parametrize(
    ("arguments", "device", "said"),
    [
        ((), None, "no device was named"),
        ((), "openreg", "does not know the device"),
        (("--capability", "flying"), "cpu", "no such capability: flying"),
        (("--ids-from", "/nowhere/ids"), "cpu", "the test ids cannot be read"),
        (("--min-tests", "2"), "cpu", "1 test(s) are left to run, expected at least 2"),
    ],
)
def test_usage_errors_say_what_where_and_what_to_do(
    suites: SmallSuites, arguments: tuple[str, ...], device: str | None, said: str
) -> None:
    suites.write("smoke/test_one.py", PASSES)
    session = suites.run(*arguments, device=device)
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert said in session.err
    assert "where: " in session.err
    assert "what to do: " in session.err
    assert [session.events[0]["event"], session.events[-1]["event"]] == ["session_start", "session_end"]
    assert session.events[-1]["exit_status"] == pytest.ExitCode.USAGE_ERROR
    assert not session.ends()


def test_help_needs_no_device(suites: SmallSuites) -> None:
    session = suites.run("--help", device=None)
    assert session.code == 0
    assert "--capability" in session.out


def test_capability_selects(suites: SmallSuites) -> None:
    suites.write("smoke/test_one.py", PASSES)
    suites.write(
        "smoke/test_two.py", PASSES.replace("def ", '@pytest.mark.capability("amp")\ndef '), header="import pytest\n"
    )
    assert set(suites.run("--capability", "amp").ends()) == {"smoke/test_two.py::test_passes"}
    suites.log.unlink()
    assert len(suites.run("--capability", "amp", "--capability", "views").ends()) == 2


def test_no_tests_is_not_green(suites: SmallSuites) -> None:
    suites.write("smoke/test_one.py", PASSES)
    session = suites.run("--capability", "amp")
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert "none of 1 test(s) has the capability amp" in session.err
    assert "without a folder, all suites are searched" in session.err


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        ('def test_x():\n    """Says what."""\n', "found none"),
        ('@pytest.mark.capability("flying")\ndef test_x():\n    """Says what."""\n', "no such capability: flying"),
        ('@pytest.mark.capability("amp")\n@pytest.mark.capability("rng")\ndef test_x():\n    """X."""\n', "amp, rng"),
        ('@pytest.mark.capability("amp")\ndef test_x():\n    pass\n', "docstring"),
    ],
)
def test_tests_that_break_the_rules_are_not_run(suites: SmallSuites, tests: str, reason: str) -> None:
    suites.write("smoke/test_one.py", tests, header="import pytest\n")
    session = suites.run()
    assert session.code == pytest.ExitCode.USAGE_ERROR
    (problem,) = session.of("collect_error")
    assert problem["id"] == "smoke/test_one.py::test_x"
    assert reason in problem["message"]
    assert not session.ends()


def test_file_that_cannot_be_imported_costs_itself_only(suites: SmallSuites) -> None:
    suites.write("smoke/test_bad.py", "import no_such_module\n")
    suites.write("smoke/test_good.py", PASSES)
    session = suites.run()
    assert session.code == 1, session.err
    assert session.err == ""
    assert "\nERROR smoke/test_bad.py" in session.out
    (problem,) = session.of("collect_error")
    assert problem["id"] == "smoke/test_bad.py"
    assert problem["message"] == "ModuleNotFoundError: No module named 'no_such_module'"
    assert session.ends()["smoke/test_good.py::test_passes"]["outcome"] == "passed"


def test_missing_torch_is_told(suites: SmallSuites) -> None:
    suites.write("smoke/test_one.py", PASSES)
    (suites.folder / "stub" / "torch.py").write_text("raise OSError('libvendor.so is missing')\n", encoding="utf-8")
    session = suites.run()
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert "`import torch` failed: OSError: libvendor.so is missing" in session.err
