"""Processes of vendors hang, crash, shout and leave children behind; the tool does none of that with them."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from processes import ends

from ootci.adapters import process
from ootci.adapters.process import Finished, ask, exit_text, run
from ootci.errors import EXIT_INFRASTRUCTURE, ToolMissing


def _run(tmp_path: Path, code: str, *, timeout: float = 30.0) -> Finished:
    return run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path,
        env=dict(os.environ),
        log_file=tmp_path / "log",
        timeout=timeout,
    )


def test_output_of_both_streams_is_in_the_log_and_the_tail(tmp_path: Path) -> None:
    done = _run(tmp_path, "import os; os.write(1, b'one\\n'); os.write(2, b'two\\n')")
    assert done.ok
    assert done.tail == "one\ntwo\n"
    assert (tmp_path / "log").read_text(encoding="utf-8") == "one\ntwo\n"


@pytest.mark.parametrize(
    ("code", "exit_code", "ending"),
    [
        ("raise SystemExit(7)", 7, "exit code 7"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -11, "killed by SIGSEGV"),
    ],
)
def test_how_a_process_ended_is_kept_and_named(tmp_path: Path, code: str, exit_code: int, ending: str) -> None:
    done = _run(tmp_path, code)
    assert (done.exit_code, done.ok, done.ending) == (exit_code, False, ending)


@pytest.mark.parametrize(
    ("code", "text"), [(0, "exit code 0"), (-9, "killed by SIGKILL"), (-99, "killed by signal 99")]
)
def test_exit_codes_have_words(code: int, text: str) -> None:
    assert exit_text(code) == text


def test_a_time_out_ends_the_whole_group_grandchildren_too(tmp_path: Path) -> None:
    code = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
open("pid", "w").write(str(child.pid))
time.sleep(60)
"""
    started = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "GRACE_SECONDS", 0.3)
        done = _run(tmp_path, code, timeout=1.0)
    assert done.timed_out
    assert not done.ok
    assert done.ending.startswith("timed out after ")
    assert time.monotonic() - started < 10
    assert ends(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_a_child_that_outlives_its_parent_is_ended(tmp_path: Path) -> None:
    code = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
open("pid", "w").write(str(child.pid))
"""
    assert _run(tmp_path, code).ok
    assert ends(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_a_daemon_that_keeps_the_pipe_open_is_ended_and_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "GRACE_SECONDS", 0.3)
    code = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    open("pid.part", "w").write(str(os.getpid()))
    os.rename("pid.part", "pid")
    time.sleep(600)
    os._exit(0)
while not os.path.exists("pid"):
    time.sleep(0.01)
print("done", flush=True)
"""
    started = time.monotonic()
    done = _run(tmp_path, code)
    assert time.monotonic() - started < 6
    assert done.ok
    assert done.tail == "done\n"
    assert ends(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_the_log_has_a_bound_and_says_so_while_the_tail_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_LOG_BYTES", 100_000)
    done = _run(tmp_path, "import os\nfor _ in range(40): os.write(1, b'x' * 65536)\nos.write(1, b'the end')")
    assert done.ok
    assert done.tail.endswith("the end")
    assert len(done.tail) == process.TAIL_BYTES
    log = (tmp_path / "log").read_bytes()
    assert len(log) < 300_000
    assert b"[cut here: more than" in log


def test_each_command_appends_to_the_log(tmp_path: Path) -> None:
    _run(tmp_path, "print('first')")
    _run(tmp_path, "print('second')")
    assert (tmp_path / "log").read_text(encoding="utf-8") == "first\nsecond\n"


def test_lines_are_told_while_the_process_runs(tmp_path: Path) -> None:
    lines: list[str] = []
    code = "import os, time; os.write(1, b'one\\ntw'); time.sleep(0.2); os.write(1, b'o\\nthree')"
    run(
        [sys.executable, "-S", "-c", code],
        cwd=tmp_path, env={}, log_file=tmp_path / "log", timeout=30, on_line=lines.append,
    )  # fmt: skip
    assert lines == ["one", "two"]


def test_nothing_is_inherited_that_was_not_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OOTCI_TEST_SECRET", "hidden")
    code = "import os; print(sorted(name for name in os.environ if 'SECRET' in name))"
    run([sys.executable, "-S", "-c", code], cwd=tmp_path, env={"A": "b"}, log_file=tmp_path / "log", timeout=30)
    assert (tmp_path / "log").read_text(encoding="utf-8") == "[]\n"


def test_a_missing_program_is_the_machine_s_fault(tmp_path: Path) -> None:
    with pytest.raises(ToolMissing) as caught:
        run(["no-such-program", "--x"], cwd=tmp_path, env={}, log_file=tmp_path / "log", timeout=1)
    assert caught.value.exit_code == EXIT_INFRASTRUCTURE
    assert caught.value.what.startswith("`no-such-program` cannot be started")
    assert caught.value.where == "no-such-program --x"
    (tmp_path / "data").write_text("x", encoding="utf-8")
    with pytest.raises(ToolMissing, match="Permission denied"):
        run([str(tmp_path / "data")], cwd=tmp_path, env={}, log_file=tmp_path / "log", timeout=1)


def test_a_question_is_answered(tmp_path: Path) -> None:
    code = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    answer = ask([sys.executable, "-S", "-c", code], cwd=tmp_path)
    assert answer == process.Answer(3, "out\n", "err\n")
    assert ask(["no-such-program"]) is None


def test_a_question_that_takes_too_long_is_given_up_with_everything_that_it_started(tmp_path: Path) -> None:
    started = time.monotonic()
    answer = ask(["sh", "-c", "sleep 60 & echo $! > pid; wait"], cwd=tmp_path, timeout=0.5)
    assert time.monotonic() - started < 10
    assert answer is not None
    assert answer.exit_code == 124
    assert ends(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_a_process_that_ends_while_others_are_looked_for_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    stat = os.stat

    def ended(path: object, **options: object) -> os.stat_result:
        if str(path).startswith("/proc/"):
            raise ProcessLookupError(3, "No such process", str(path))
        return stat(path, **options)  # type: ignore[arg-type, call-overload, no-any-return]

    monkeypatch.setattr(os, "stat", ended)
    assert process.end_all_with("OOTCI_NOBODY_HAS_THIS", "1") == 0
