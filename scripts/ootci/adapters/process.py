"""Starting, watching and ending processes: the only module that does.

Every process leads a process group of its own, so that its children can be ended with it. Output goes to
a log file of bounded size.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shlex
import signal
import subprocess  # noqa: TID251
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ootci.errors import ToolMissing

log = logging.getLogger(__name__)

MAX_LOG_BYTES = 8 * 1024 * 1024
TAIL_BYTES = 16 * 1024
GRACE_SECONDS = 5.0
RUN_MARK = "OOTCI_COMMAND_RUN"
"""The environment variable by which processes that a command or a suite started are found."""


_CANNOT_START = (FileNotFoundError, PermissionError, NotADirectoryError)


def _started(
    command: Sequence[str], cwd: Path | None, env: Mapping[str, str] | None, errors: int, keep_open: Sequence[int]
) -> subprocess.Popen[bytes]:
    """Start a process group; ``errors`` is where its error output goes, ``keep_open`` the descriptors it inherits."""
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        start_new_session=True,
        pass_fds=keep_open,
    )


@dataclass(frozen=True)
class Finished:
    """How a process ended.

    Attributes:
        exit_code: its exit code, or the negative number of the signal that killed it.
        timed_out: whether it was ended because its time was up.
        duration: seconds.
        tail: the end of its output.

    """

    exit_code: int
    timed_out: bool
    duration: float
    tail: str

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.timed_out

    @property
    def ending(self) -> str:
        """How it ended, for people: ``exit code 1``, ``killed by SIGSEGV``, ``timed out after 60 s``."""
        if self.timed_out:
            return f"timed out after {self.duration:.0f} s"
        return exit_text(self.exit_code)


def exit_text(exit_code: int) -> str:
    """An exit code for people; negative codes are signals."""
    if exit_code >= 0:
        return f"exit code {exit_code}"
    try:
        return f"killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"killed by signal {-exit_code}"


class Process:
    """A running process whose output (both streams) goes to a log file.

    Args:
        command: program and arguments; no shell is involved.
        env: its whole environment.
        log_file: where its output is appended; output beyond ``MAX_LOG_BYTES`` is dropped, with a note in the log.
        on_line: called with each complete line of output, from another thread.
        keep_open: descriptors that it inherits under their numbers.

    Raises:
        ToolMissing: the program does not exist or is not executable.

    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log_file: Path,
        on_line: Callable[[str], None] | None = None,
        keep_open: Sequence[int] = (),
    ) -> None:
        self.command = tuple(command)
        self.cwd = cwd
        self.started = time.monotonic()
        log_file.parent.mkdir(parents=True, exist_ok=True)
        self._log_file = log_file
        self._on_line = on_line
        self._tail = bytearray()
        try:
            self._popen = _started(self.command, cwd, env, subprocess.STDOUT, keep_open)
        except _CANNOT_START as error:
            raise ToolMissing(
                f"`{self.command[0]}` cannot be started: {error.strerror}",
                where=shlex.join(self.command),
                fix="install it, or run `ootci doctor` to see what is missing",
            ) from error
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._popen.poll()

    def wait(self, seconds: float) -> int | None:
        """Wait at most that long; the exit code, or None when it still runs."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the process itself, which may have ended already."""
        with contextlib.suppress(ProcessLookupError):
            self._popen.send_signal(number)

    def stop(self) -> None:
        """End the whole group: SIGTERM first, then SIGKILL."""
        _signal_group(self._popen.pid, signal.SIGTERM)
        try:
            self.wait(GRACE_SECONDS)
        finally:
            # Also after a second interrupt, and for children that outlive the leader.
            _signal_group(self._popen.pid, signal.SIGKILL)
        self.wait(GRACE_SECONDS)

    def kill(self) -> None:
        """End the whole group at once."""
        _signal_group(self._popen.pid, signal.SIGKILL)
        self.wait(GRACE_SECONDS)

    def finish(self, *, timed_out: bool = False) -> Finished:
        """Collect the result of an ended process, and end the remaining processes of its group."""
        exit_code = self._popen.wait()
        duration = time.monotonic() - self.started
        _signal_group(self._popen.pid, signal.SIGKILL)
        self._reader.join(GRACE_SECONDS)
        finished = Finished(exit_code, timed_out, duration, self._tail.decode("utf-8", "replace"))
        log.debug("%s  [cwd %s, %s, %.1f s]", shlex.join(self.command), self.cwd, finished.ending, duration)
        return finished

    def _read(self) -> None:
        stream = self._popen.stdout
        if stream is None:
            return
        written, pending = self._log_file.stat().st_size if self._log_file.exists() else 0, b""
        with self._log_file.open("ab", buffering=0) as target:
            while chunk := os.read(stream.fileno(), 65536):
                self._tail += chunk
                del self._tail[:-TAIL_BYTES]
                if written < MAX_LOG_BYTES:
                    target.write(chunk)
                    if written + len(chunk) >= MAX_LOG_BYTES:
                        target.write(f"\n[cut here: more than {MAX_LOG_BYTES >> 20} MiB of output]\n".encode())
                written += len(chunk)
                if self._on_line:
                    *lines, pending = (pending[-4096:] + chunk).split(b"\n")
                    for line in lines[-20:]:
                        self._on_line(line.decode("utf-8", "replace"))
        stream.close()


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log_file: Path,
    timeout: float,
    on_line: Callable[[str], None] | None = None,
) -> Finished:
    """Run a command to its end, or end it after ``timeout`` seconds, and then its remaining children.

    Raises:
        ToolMissing: the program does not exist or is not executable.

    """
    mark = secrets.token_hex(16)
    process = Process(command, cwd=cwd, env={**env, RUN_MARK: mark}, log_file=log_file, on_line=on_line)
    timed_out = False
    try:
        if process.wait(timeout) is None:
            timed_out = True
            process.stop()
    except BaseException:
        process.stop()
        raise
    finally:
        # A daemon that it started is in no group of its, and may keep its output open.
        if left := end_all_with(RUN_MARK, mark):
            log.debug("%d process(es) that `%s` had left behind were ended", left, command[0])
    return process.finish(timed_out=timed_out)


@dataclass(frozen=True)
class Answer:
    """The answer of a short command; its exit code is negative for a signal, and 124 when it took too long."""

    exit_code: int
    out: str
    err: str


def ask(
    command: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60,
    keep_open: Sequence[int] = (),
) -> Answer | None:
    """Run a short command and return its answer, or None when there is no such program.

    It inherits the descriptors ``keep_open`` under their numbers.
    """
    started = time.monotonic()
    try:
        popen = _started(command, cwd, env, subprocess.PIPE, keep_open)
    except _CANNOT_START:
        return None
    try:
        out, err = popen.communicate(timeout=timeout)
        answer = Answer(popen.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))
    except subprocess.TimeoutExpired:
        answer = Answer(124, "", f"no answer within {timeout:.0f} s")
    finally:
        # The whole group, because a child that keeps the pipes open would be waited for.
        _signal_group(popen.pid, signal.SIGKILL)
        popen.wait()
        for stream in (popen.stdout, popen.stderr):
            if stream is not None:
                stream.close()
    seconds = time.monotonic() - started
    log.debug("%s  [cwd %s, %s, %.1f s]", shlex.join(command), cwd, exit_text(answer.exit_code), seconds)
    return answer


def version_line(program: str) -> str | None:
    """First line of what a program answers to ``--version``; None where there is no such program."""
    answer = ask([program, "--version"])
    return answer.out.splitlines()[0] if answer and answer.exit_code == 0 and answer.out else None


def end_all_with(variable: str, value: str) -> int:
    """End every process that has this environment variable, and say how many there were.

    Finds what left its process group, such as a daemon that a test started: what a process starts inherits its
    environment. Linux only (proc(5), ``/proc/<pid>/environ``); elsewhere nothing is found.
    """
    mark, count = f"{variable}={value}".encode(), 0
    for number in _processes():
        with contextlib.suppress(OSError):
            if mark in Path(f"/proc/{number}/environ").read_bytes().split(b"\0"):
                os.kill(number, signal.SIGKILL)
                count += 1
    return count


def _processes() -> list[int]:
    # Not by a pattern of paths, which looks at each: one that ends meanwhile would be an error.
    with contextlib.suppress(OSError):
        return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]
    return []


def _signal_group(leader: int, number: signal.Signals) -> None:
    # The group outlives its leader while a member lives; when none does, the number may not be signalled.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
