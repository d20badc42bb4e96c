"""The pytest processes of one suite, and spare processes that have already imported torch and collected the tests.

Importing and collecting take nearly all of a process's start. Once a process has died, spares are started next to its
successor: they import and collect, do not use the device, and wait for the tests to run. They are not forked, because
drivers do not survive that. A suite without crashes starts no spare.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Sequence

from ootci.adapters.process import Finished, Process
from ootci.adapters.terminal import plain
from ootci.model.excerpt import excerpt

from .suite_run import SuiteRun, narrowed


class Worker:
    """One pytest process, which runs tests at once or stands by until it receives their ids.

    Args:
        number: makes the name of its stack file its own.
        tests: what it runs; None for the whole suite.
        left_out: files of the suite `upstream` that the whole suite is collected without.
        stands_by: collect the files of ``tests``, and then wait for :meth:`take`.

    Raises:
        ToolMissing: the device's Python cannot be started.

    """

    def __init__(
        self,
        run: SuiteRun,
        number: int,
        tests: Sequence[str] | None,
        *,
        stands_by: bool = False,
        left_out: Collection[str] = (),
    ) -> None:
        self.stands_by = stands_by
        self._stacks = run.logs / f"{run.name}.stacks.{run.attempt}-{number}.txt"
        self._stacks.unlink(missing_ok=True)
        command = [
            *(run.python, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:faulthandler", "--color=no"),
            *("-c", str(run.suites / "pytest.ini"), "--rootdir", str(run.suites), *_places(run, tests)),
            *run.options,
            *narrowed(run.suite, tests, left_out),
            *("--device", run.device, "--events", str(run.events), "--stack-file", str(self._stacks)),
            # In its default folder pytest would remove files of other runs on this machine, which can take minutes.
            f"--basetemp={run.scratch / f'tmp.{run.attempt}-{number}'}",
        ]
        if run.attempt > 1:
            command += ["--attempt", str(run.attempt)]
        self._order: int | None = None
        reading: int | None = None
        if stands_by:
            reading, self._order = os.pipe()
            command += ["--stand-by", str(reading)]
        elif tests is not None:
            ids = run.logs / f"{run.name}.remaining.txt"
            ids.write_text(_lines(tests), encoding="utf-8")
            command += ["--ids-from", str(ids)]
        else:
            command += run.choice
        log = run.logs / f"{run.name}.log"
        kept = () if reading is None else (reading,)
        try:
            self.process = Process(command, cwd=run.scratch, env=run.variables, log_file=log, keep_open=kept)
        finally:
            for descriptor in kept:
                os.close(descriptor)

    def take(self, tests: Sequence[str]) -> bool:
        """Tell a process that stands by which tests to run; false when it has died."""
        order, self._order = self._order, None
        if order is None:
            return False
        dead = self.process.poll() is not None
        # A process that dies now has run no test; the supervisor notices it.
        with contextlib.suppress(OSError), os.fdopen(order, "w", encoding="utf-8") as stream:
            stream.write("" if dead else _lines(tests))
        return not dead

    def dismiss(self) -> None:
        """End a process that stands by and is not needed."""
        if self._order is not None:
            os.close(self._order)
            self._order = None
        self.process.kill()
        self.finish()
        self._stacks.unlink(missing_ok=True)

    def finish(self, *, timed_out: bool = False) -> tuple[Finished, str | None]:
        """Collect what is left of an ended process: how it ended, and the stacks that it dumped, if any."""
        finished = self.process.finish(timed_out=timed_out)
        try:
            text = plain(self._stacks.read_text(encoding="utf-8", errors="replace"))
        except OSError:
            return finished, None
        if not text.strip():
            self._stacks.unlink(missing_ok=True)
            return finished, None
        return finished, excerpt(text)


def _places(run: SuiteRun, tests: Sequence[str] | None) -> list[str]:
    """The files that hold the tests, so that no other one is imported; the suite where ids are not made of files."""
    files = dict.fromkeys(run.suites / test.partition("::")[0] for test in tests or ())
    if not files or not all(file.is_file() for file in files):
        return [str(run.suites / run.suite)]
    return [str(file) for file in files]


def _lines(tests: Sequence[str]) -> str:
    return "".join(f"{test}\n" for test in tests)


class Pool:
    """Starts the processes of one suite, with spares unless they do not work on this device.

    ``left_out`` are files of the suite `upstream` that are left out from now on; it may grow.
    """

    def __init__(self, run: SuiteRun, say: Callable[[str], None], left_out: Collection[str] = ()) -> None:
        self._run = run
        self._say = say
        self._left_out = left_out
        self._number = 0
        self._replaced = -1
        self._allowed = run.spares
        self._spares: list[Worker] = []

    def next(self, tests: Sequence[str] | None) -> Worker:
        """The process that runs these tests, or all when None: a spare where there is one, else a new one."""
        self._replaced += 1
        while self._spares and tests is not None:
            spare = self._spares.pop(0)
            if spare.take(tests):
                return spare
            self.give_up(spare)
        return self._start(tests, stands_by=False)

    def prepare(self, remaining: Callable[[], Sequence[str]]) -> None:
        """Start one more spare, unless there are as many as processes were replaced, or as are allowed.

        Call it while a test runs: that process has opened the device already, so on a device that only one process can
        open the spare fails and not the tests. ``remaining`` is called only if a spare is started, because there may be
        a hundred thousand tests.
        """
        if len(self._spares) >= min(self._replaced, self._allowed):
            return
        tests = remaining()
        if len(self._spares) < len(tests) - 1:
            self._spares.append(self._start(tests, stands_by=True))

    def give_up(self, spare: Worker) -> None:
        """Stop using spares, because one died before it had run a test."""
        self._allowed = 0
        finished, _ = spare.finish()
        self._say(f"a process that stood by ended by itself ({finished.ending}), so none will from now on")
        self.close()

    def close(self) -> None:
        """End the spares."""
        while self._spares:
            self._spares.pop().dismiss()

    def _start(self, tests: Sequence[str] | None, *, stands_by: bool) -> Worker:
        self._number += 1
        return Worker(self._run, self._number, tests, stands_by=stands_by, left_out=self._left_out)
