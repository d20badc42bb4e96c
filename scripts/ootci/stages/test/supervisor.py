"""Running one suite so that a crash or a hang of one test costs that test only.

pytest runs in a separate process and writes its progress to the event log. If the process dies, the running test is
recorded as crashed; if a test or the suite takes too long, the process dumps its stacks and is ended, and the test is
recorded as timed out. Another process then runs the remaining tests. After many such ends in a row the device is
probed; if it does not answer, the remaining tests are not run.

In the suite ``upstream`` the import of a file can end the process, too. All workers then leave the file out, because
several may share a large one.
"""

from __future__ import annotations

import secrets
import shlex
import signal
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from ootci.adapters.process import RUN_MARK, Finished, end_all_with
from ootci.adapters.progress import Progress
from ootci.adapters.terminal import plain
from ootci.model.capability import docs_page
from ootci.model.device import UPSTREAM
from ootci.model.event import Collected, CollectedTest, Tail, TestEnd, append_event
from ootci.model.outcome import OutcomeName, file_of

from .finish import first_error, telling_line
from .suite_run import SuiteEnd, SuiteRun, joined, narrowed
from .watch import Watch
from .worker import Pool, Worker

STACK_SECONDS = 1.0
TIME_OUT_WEIGHT = 5
"""A timed-out test counts as so many crashes in a row, because it takes longer."""
PYTEST_ORDERLY = frozenset({0, 1, 5})
"""pytest's exit codes that say that the tests ran: all passed, some failed, or there was none (pytest documentation,
exit codes). A worker has none when the import of its only file ended its process."""


T = TypeVar("T")
Steps = Generator[None, None, T]
"""Work that yields while it waits, so that several can run side by side; returns its result."""


class Supervisor:
    """Runs one suite, or one worker's share of it; see the module's text.

    Args:
        only: run these tests; None for all of the suite.
        ask_device: probes the device; returns why it does not answer, or None.
        left_out: files whose import ended a process; workers of one suite share the set.

    """

    def __init__(
        self,
        run: SuiteRun,
        *,
        clock: Callable[[], datetime],
        only: Sequence[str] | None = None,
        ask_device: Callable[[], str | None] = lambda: None,
        left_out: set[str] | None = None,
    ) -> None:
        mark = secrets.token_hex(16)
        self.run = replace(run, variables={**run.variables, RUN_MARK: mark})
        self.clock = clock
        self.only = only
        self.ask_device = ask_device
        self.mark = mark
        self.log = run.logs / f"{run.name}.log"
        position = run.events.stat().st_size if run.events.exists() else 0
        self.watch = Watch(Tail(run.events, position), attempt=run.attempt, copied_to=run.copied_to)
        self.left_out = set[str]() if left_out is None else left_out
        self.pool = Pool(self.run, self.say, self.left_out)
        self.stack: str | None = None
        self.before_death: dict[str, tuple[str, ...]] = {}
        self.in_a_row = 0
        self.has_listed = False
        self.deadline = time.monotonic() + run.suite_seconds

    def steps(self) -> Steps[SuiteEnd]:
        """Run the suite to its end, a step after each wait. Tests without an outcome are reported as ``not_run``."""
        try:
            return (yield from self._supervise())
        finally:
            self.pool.close()
            left = end_all_with(RUN_MARK, self.mark)
            if left:
                self.say(f"{left} process(es) that the suite had left behind were ended")

    def _supervise(self) -> Steps[SuiteEnd]:
        only = self.only
        while True:
            done_before = len(self.watch.ended)
            worker, finished, why = yield from self._one_process(only)
            self.watch.read()
            self.has_listed = self.has_listed or self.watch.has_listed
            if self.watch.exit_status is not None and self.watch.current is None:
                return self._end(self._orderly_reason(finished), finished)
            culprit = self.watch.current
            if culprit is not None and (why != "suite" or self.run.attempt == 1):
                self._blame(culprit, finished, why)
            if why == "suite":
                return self._end(f"the suite was ended after {self.run.suite_seconds:.0f} s", finished, timed_out=True)
            if (importing := self.watch.importing) is not None and not worker.stands_by:
                self._leave_out(importing, finished, why)
                reason = self._dead_device(importing, 1, timed_out=why is not None)
                only = self._remaining() if self.has_listed else self._kept(only)
                if reason or (only is not None and not only):
                    return self._end(reason, finished)
                continue
            if not self.watch.collected:
                said = f"{finished.ending}; {telling_line(finished)}"
                return self._end(f"pytest ended before it had collected any test: {said}", finished)
            only = self._remaining()
            if not only:
                ending = f"every test reported, and then the process ended: {finished.ending}"
                return self._end(None if culprit is not None else ending, finished)
            told = len(self.watch.ended) - done_before
            if told == 0 and worker.stands_by:
                self.pool.give_up(worker)
            elif told == 0:
                return self._end(f"pytest ended between two tests: {finished.ending}", finished)
            elif reason := self._dead_device(culprit, told, timed_out=why is not None):
                return self._end(reason, finished)

    def _remaining(self) -> list[str]:
        """Tests that have no outcome yet and whose file is not left out."""
        return self._kept(self.watch.remaining()) or []

    def _kept(self, tests: Sequence[str] | None) -> list[str] | None:
        return None if tests is None else [test for test in tests if file_of(test, UPSTREAM) not in self.left_out]

    def _leave_out(self, test_id: str, finished: Finished, why: str | None) -> None:
        """Leave out a file whose import ended the process; the first worker that finds it records it."""
        if not self._kept([test_id]):
            return
        self.left_out.add(file_of(test_id, UPSTREAM))
        test = CollectedTest(id=test_id, suite=self.run.suite, title="The file can be imported.")
        append_event(self.run.events, Collected(tests=(test,)), self.clock())
        self.watch.read()
        self._blame(test_id, finished, why)

    def _dead_device(self, culprit: str | None, told: int, *, timed_out: bool) -> str | None:
        """Why the device is considered dead; None while it still answers, even if processes keep crashing."""
        if culprit is None:
            self.in_a_row = 0
            return None
        weight = TIME_OUT_WEIGHT if timed_out else 1
        self.in_a_row = weight + (self.in_a_row if told == 1 else 0)
        if self.in_a_row < self.run.deaths_in_a_row:
            return None
        self.in_a_row = 0
        self.say("no test comes through: asking the device whether it still answers")
        answer = self.ask_device()
        if answer is None:
            return None
        return f"one test after the other ended its process, and the device does not answer: {answer}"

    def _one_process(self, only: Sequence[str] | None) -> Steps[tuple[Worker, Finished, str | None]]:
        self.watch.new_process()
        worker = self.pool.next(only)
        try:
            why = yield from self._until_end(worker)
        except BaseException:
            worker.process.stop()
            raise
        finished, self.stack = worker.finish(timed_out=why is not None)
        return worker, finished, why

    def _until_end(self, worker: Worker) -> Steps[str | None]:
        """Wait for the process; end it when a time is up, and say which: ``test``, ``collection`` or ``suite``."""
        process = worker.process
        while process.wait(self.run.poll_seconds) is None:
            self.watch.read()
            now = time.monotonic()
            if now > self.deadline:
                why = "suite"
            elif self.watch.current is not None and now - self.watch.current_since > self.run.test_seconds:
                why = "test"
            elif self.watch.current is None and now - self.watch.last_told > self._quiet_seconds:
                why = "collection"
            else:
                if self.watch.current is not None:
                    self.pool.prepare(self._remaining)
                yield
                continue
            running = self.watch.current, self.watch.importing
            process.send(signal.SIGUSR1)
            process.wait(STACK_SECONDS)
            self.watch.read()
            if why == "suite" or (self.watch.current, self.watch.importing) == running:
                process.stop()
                return why
            # What was running ended meanwhile; the test that runs now has its own time.
        return None

    @property
    def _quiet_seconds(self) -> float:
        """How long a process may report nothing while no test runs."""
        return self.run.test_seconds if self.watch.has_listed else self.run.collect_seconds

    def _blame(self, test_id: str, finished: Finished, why: str | None) -> None:
        is_import = self.watch.current is None
        seconds = time.monotonic() - self.watch.current_since
        self.before_death[test_id] = tuple(self.watch.in_process[:-1])
        if why is None:
            during = "while this file was imported" if is_import else "during this test"
            outcome, message = OutcomeName.CRASHED, f"the process ended {during}: {finished.ending}"
        else:
            limits = {"suite": self.run.suite_seconds, "test": self.run.test_seconds}
            outcome = OutcomeName.TIMED_OUT
            whose = "import" if is_import else why
            limit = limits.get(why, self.run.collect_seconds)
            message = f"still running when the {whose}'s {limit:.0f} s were up; the process was ended"
        told = last_lines(test_id, self.watch.collected.get(test_id), self.run)
        text = "\n".join(filter(None, [message, self.stack, told]))
        self._tell(test_id, outcome, message, text=text, duration=round(seconds, 3))

    def _tell(
        self, test_id: str, outcome: OutcomeName, message: str, *, text: str | None = None, duration: float = 0.0
    ) -> None:
        end = TestEnd(
            id=test_id, outcome=outcome, attempt=self.run.attempt, duration=duration, message=message, text=text
        )
        append_event(self.run.events, end, self.clock())
        self.watch.read()

    def name_files(self, dealt: Mapping[str, tuple[int, ...]], reason: str) -> None:
        """Tell which files a worker alone had, whose tests are not known because it never listed them."""
        known = {test.partition("::")[0] for test in self.watch.collected}
        tests = [
            CollectedTest(id=f"{file}::import", suite=self.run.suite, title="The file can be imported.")
            for file, workers in dealt.items()
            if workers == (self.run.worker,) and file not in known
        ]
        if tests:
            append_event(self.run.events, Collected(tests=tuple(tests)), self.clock())
        for test in tests:
            self._tell(test.id, OutcomeName.NOT_RUN, f"the file's tests are not known: {reason}")

    def say(self, text: str) -> None:
        """Write a line into the suite's log."""
        with self.log.open("a", encoding="utf-8") as stream:
            stream.write(f"\n[ootci: {text}]\n")

    def _orderly_reason(self, finished: Finished) -> str | None:
        if self.watch.collect_errors:
            path, message = next(iter(self.watch.collect_errors.items()))
            return f"{len(self.watch.collect_errors)} file(s) could not be collected, first {path}: {message}"
        if self.watch.exit_status not in PYTEST_ORDERLY:
            said = "" if self.watch.collected else f"; {first_error(finished)}"
            return f"pytest ended with exit status {self.watch.exit_status}{said}"
        if self.watch.collected and (left := len(self._remaining())):
            return f"pytest ended by itself before {left} of {len(self.watch.collected)} tests had run"
        if self.watch.exit_status != finished.exit_code and not finished.timed_out:
            return f"every test reported, and then the process ended: {finished.ending}"
        return None

    def _end(self, reason: str | None, finished: Finished, *, timed_out: bool = False) -> SuiteEnd:
        # Only the first attempt records not_run; a retry that did not happen adds nothing.
        for test_id in self.watch.remaining() if self.run.attempt == 1 else ():
            because = reason or "the import of its file ended another process"
            self._tell(test_id, OutcomeName.NOT_RUN, f"not run: {because}")
        tail = plain(finished.tail).strip() or self.stack or ""
        watch = self.watch
        return SuiteEnd(
            watch.collected,
            watch.ended,
            watch.exit_status is not None,
            reason,
            timed_out,
            tail,
            self.log.name,
            self.before_death,
        )


def supervise(supervisors: Sequence[Supervisor], progress: Progress) -> SuiteEnd:
    """Run supervisors side by side.

    Args:
        supervisors: one for each worker.
        progress: shown how many tests have ended, and one that is running.

    Raises:
        ToolMissing: the device's Python cannot be started.

    """
    ends: dict[Supervisor, SuiteEnd] = {}
    running = {one: one.steps() for one in supervisors}
    try:
        while running:
            for one, steps in tuple(running.items()):
                try:
                    next(steps)
                except StopIteration as stop:
                    ends[one] = stop.value
                    del running[one]
            progress.update(_shown([one.watch for one in supervisors]))
    finally:
        for steps in running.values():
            steps.close()
    dealt = next((one.watch.dealt for one in supervisors if one.watch.dealt), {})
    for one, end in ends.items():
        if end.reason is not None and not one.has_listed:
            one.name_files(dealt, end.reason)
    return joined([ends[one] for one in supervisors])


def _shown(watches: Sequence[Watch]) -> str:
    done, total = sum(len(watch.ended) for watch in watches), sum(len(watch.collected) for watch in watches)
    current = next((watch.current for watch in watches if watch.current), "")
    return f"{done}/{total}  {current}" if total else "collecting"


def last_lines(test_id: str, test: CollectedTest | None, run: SuiteRun) -> str:
    """The expected behaviour, the page to read, and the command that reproduces the failure."""
    lines = []
    if test is not None and test.title:
        lines.append(f"Expected: {test.title}")
    if test is not None and test.capability:
        lines += [f"Capability: {test.capability}", f"Documentation: {docs_page(test.capability)}"]
    # The tests of the suite upstream lie elsewhere, so that pytest does not find them by their ids.
    options = [option for option in run.options if not option.startswith("--upstream-files=")]
    elsewhere = [run.suite, *options, *narrowed(run.suite, [test_id]), "--id", test_id]
    chosen = elsewhere if run.suite == UPSTREAM else [test_id]
    command = shlex.join(["python", "-m", "pytest", *chosen, "--device", run.device])
    return "\n".join([*lines, f"Reproduce (from the suites folder): {command}"])
