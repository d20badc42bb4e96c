"""Running one suite so that a crash or a hang of one test costs that test only.

pytest runs in a process of its own and tells in the event log what it is doing. When the process dies, the test that
was running is the culprit and is recorded as crashed; when a test or the suite takes too long the process is asked for
its stacks, ended, and the test recorded as timed out. Then a new process runs the tests that remain.
"""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ootci.adapters.process import Finished, Process
from ootci.adapters.terminal import Progress, plain
from ootci.model.event import TestEnd, append_event
from ootci.model.outcome import FAILURES, OutcomeName

from .watch import Watch

POLL_SECONDS = 0.1
STACK_SECONDS = 1.0
MAX_STACK_CHARACTERS = 16_000
PYTEST_ORDERLY = frozenset({0, 1})
"""pytest's exit codes that say that the tests ran: all passed, or some failed (pytest documentation, exit codes)."""


@dataclass(frozen=True)
class SuiteRun:
    """What a suite needs to run.

    Attributes:
        suite: its name, a folder under ``suites``.
        device: name of the device.
        python: the device environment's interpreter.
        suites: the suites folder.
        variables: the whole environment of the process.
        events: event log of the run.
        logs: folder of the logs.
        scratch: working directory, empty at first.
        suite_seconds: time-out of the suite.
        test_seconds: time-out of one test, and of collecting.
        options: further options of the suites, for each of its processes.

    """

    suite: str
    device: str
    python: str
    suites: Path
    variables: Mapping[str, str]
    events: Path
    logs: Path
    scratch: Path
    suite_seconds: float
    test_seconds: float
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class SuiteEnd:
    """How a suite ended.

    Attributes:
        watch: what was told.
        reason: one line, when it did not run to its end in an orderly way.
        timed_out: whether the suite's own time was up.
        tail: the end of the last process's output.

    """

    watch: Watch
    reason: str | None
    timed_out: bool
    tail: str

    @property
    def failures(self) -> int:
        """Tests that say that the device did something wrong."""
        return sum(outcome in FAILURES for outcome in self.watch.ended.values())


class Supervisor:
    """Runs one suite; see the module's text.

    Args:
        run: what to run.
        clock: gives the aware current time.
        progress: shown the test that is running.

    """

    def __init__(self, run: SuiteRun, *, clock: Callable[[], datetime], progress: Progress) -> None:
        self.run = run
        self.clock = clock
        self.progress = progress
        self.log = run.logs / f"{run.suite}.log"
        self.stacks = run.logs / f"{run.suite}.stacks.txt"
        position = run.events.stat().st_size if run.events.exists() else 0
        self.watch = Watch(run.events, position)
        self.deadline = time.monotonic() + run.suite_seconds

    def supervise(self) -> SuiteEnd:
        """Run the suite to its end.

        Raises:
            ToolMissing: the device's Python cannot be started.

        """
        only: list[str] | None = None
        while True:
            done_before = len(self.watch.ended)
            finished, why = self._one_process(only)
            self.watch.read()
            if self.watch.exit_status is not None and self.watch.current is None:
                return self._end(self._orderly_reason(finished), finished)
            culprit = self.watch.current
            if culprit is not None:
                self._blame(culprit, finished, why)
            if why == "suite":
                return self._end(f"the suite was ended after {self.run.suite_seconds:.0f} s", finished, timed_out=True)
            if not self.watch.collected:
                return self._end(f"pytest ended before it had collected any test: {finished.ending}", finished)
            only = self.watch.remaining()
            if not only:
                ending = f"every test reported, and then the process ended with {finished.ending}"
                return self._end(None if culprit is not None else ending, finished)
            if len(self.watch.ended) == done_before:
                return self._end(f"pytest ended between two tests: {finished.ending}", finished)

    def _one_process(self, only: list[str] | None) -> tuple[Finished, str | None]:
        self.watch.new_process()
        if self.stacks.exists():
            self.stacks.unlink()
        process = Process(self._command(only), cwd=self.run.scratch, env=self.run.variables, log_file=self.log)
        try:
            why = self._until_end(process)
        except BaseException:
            process.stop()
            raise
        return process.finish(timed_out=why is not None), why

    def _until_end(self, process: Process) -> str | None:
        """Wait for the process; end it when a time is up, and say which: ``test``, ``collection`` or ``suite``."""
        while process.wait(POLL_SECONDS) is None:
            self.watch.read()
            now = time.monotonic()
            if now > self.deadline:
                why = "suite"
            elif self.watch.current is not None and now - self.watch.current_since > self.run.test_seconds:
                why = "test"
            elif self.watch.current is None and now - self.watch.last_told > self.run.test_seconds:
                why = "collection"
            else:
                self._show()
                continue
            process.send(signal.SIGUSR1)
            process.wait(STACK_SECONDS)
            process.stop()
            return why
        return None

    def _show(self) -> None:
        total, done = len(self.watch.collected), len(self.watch.ended)
        self.progress.update(f"{done}/{total}  {self.watch.current or ''}" if total else "collecting")

    def _command(self, only: list[str] | None) -> list[str]:
        run = self.run
        command = [
            *(run.python, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--color=no"),
            *("-c", str(run.suites / "pytest.ini"), "--rootdir", str(run.suites), str(run.suites / run.suite)),
            *run.options,
            *("--device", run.device, "--events", str(run.events), "--stack-file", str(self.stacks)),
        ]
        if only is not None:
            ids = run.logs / f"{run.suite}.remaining.txt"
            ids.write_text("".join(f"{test_id}\n" for test_id in only), encoding="utf-8")
            command += ["--ids-from", str(ids)]
        return command

    def _blame(self, test_id: str, finished: Finished, why: str | None) -> None:
        seconds = time.monotonic() - self.watch.current_since
        if why is None:
            outcome, message = OutcomeName.CRASHED, f"the process ended during this test: {finished.ending}"
        else:
            limit = self.run.suite_seconds if why == "suite" else self.run.test_seconds
            outcome = OutcomeName.TIMED_OUT
            message = f"still running when the {why}'s {limit:.0f} s were up; the process was ended"
        stack = self._stack()
        reproduce = shlex.join(["python", "-m", "pytest", test_id, "--device", self.run.device])
        text = "\n".join(filter(None, [message, stack, f"Reproduce (from the suites folder): {reproduce}"]))
        end = TestEnd(id=test_id, outcome=outcome, duration=round(seconds, 3), message=message, text=text)
        append_event(self.run.events, end, self.clock())
        self.watch.read()

    def _stack(self) -> str | None:
        try:
            text = plain(self.stacks.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return None
        cut = len(text) - MAX_STACK_CHARACTERS
        return text if cut <= 0 else f"{text[:MAX_STACK_CHARACTERS]}\n[{cut} characters cut]"

    def _orderly_reason(self, finished: Finished) -> str | None:
        if self.watch.collect_errors:
            path, message = next(iter(self.watch.collect_errors.items()))
            return f"{len(self.watch.collect_errors)} file(s) could not be collected, first {path}: {message}"
        if self.watch.exit_status not in PYTEST_ORDERLY and self.watch.collected:
            return f"pytest ended with exit status {self.watch.exit_status}"
        if self.watch.collected and (left := len(self.watch.remaining())):
            return f"pytest ended by itself before {left} of {len(self.watch.collected)} tests had run"
        if self.watch.exit_status != finished.exit_code and not finished.timed_out:
            return f"every test reported, and then the process ended with {finished.ending}"
        return None

    def _end(self, reason: str | None, finished: Finished, *, timed_out: bool = False) -> SuiteEnd:
        return SuiteEnd(self.watch, reason, timed_out, plain(finished.tail).strip() or self._stack() or "")
