"""Two runs of the tool never work in one folder."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import subprocess
import sys
import time
from concurrent import futures
from pathlib import Path

import pytest

from ootci.adapters.folder_lock import held, locked
from ootci.adapters.process import end_all_with
from ootci.errors import EXIT_INFRASTRUCTURE, Busy, HostFailure

HOLD = """
import sys, time
from pathlib import Path
from ootci.adapters.folder_lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_folder_that_another_process_holds_is_busy_until_that_dies(tmp_path: Path) -> None:
    source = str(Path(__file__).parents[4] / "scripts")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "work")], env={"PYTHONPATH": source}, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(Busy) as caught, locked(tmp_path / "work"):
            pass
        holder.kill()
        holder.wait()
    assert caught.value.exit_code == EXIT_INFRASTRUCTURE
    assert str(tmp_path / "work") in caught.value.where
    with locked(tmp_path / "work"):
        pass


def test_the_lock_ends_with_the_block_also_when_it_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(tmp_path):
        raise KeyError
    with locked(tmp_path), pytest.raises(Busy), locked(tmp_path):
        pass


def test_a_file_system_without_locks_is_not_taken_for_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int, __: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(OSError, match="No locks available"), locked(tmp_path):
        pass


def test_a_folder_that_cannot_be_made_says_which_option_to_use(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(HostFailure) as caught, locked(tmp_path / "file" / "work"):
        pass
    assert "--work" in caught.value.fix


def test_who_has_patience_waits_for_the_folder(tmp_path: Path) -> None:
    with contextlib.ExitStack() as holder, futures.ThreadPoolExecutor() as threads:
        holder.enter_context(held(tmp_path))
        waiting = threads.submit(_hold, tmp_path)
        with pytest.raises(futures.TimeoutError):
            waiting.result(timeout=0.3)
        holder.close()
        assert waiting.result(timeout=60)


def _hold(folder: Path) -> bool:
    with held(folder, patience=60):
        return True


HOLD_WITH_A_CHILD = """
import sys
from pathlib import Path
from ootci.adapters.folder_lock import held
from ootci.adapters.process import ask
with held(Path(sys.argv[1])) as descriptor:
    ask(["sh", "-c", "echo started >&2; sleep 60"], keep_open=(descriptor,))
"""


def test_a_folder_is_held_while_a_child_lives_that_outlived_its_parent(tmp_path: Path) -> None:
    source, mark = str(Path(__file__).parents[4] / "scripts"), f"held-{os.getpid()}"
    env = {"PYTHONPATH": source, "PATH": os.environ["PATH"], "MARK": mark}
    with subprocess.Popen([sys.executable, "-c", HOLD_WITH_A_CHILD, str(tmp_path)], env=env) as parent:
        while b"sleep" not in b"".join(_commands_of(mark)):
            time.sleep(0.02)
        parent.kill()
    with pytest.raises(Busy, match="another run of ootci uses this folder"), held(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []
    end_all_with("MARK", mark)
    while True:
        with contextlib.suppress(Busy), held(tmp_path):
            break
        time.sleep(0.02)


def _commands_of(mark: str) -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"MARK={mark}".encode() in (path / "environ").read_bytes():
                found.append((path / "cmdline").read_bytes().split(b"\0")[0])
    return found
