"""The processes of one suite, one after the other, and spares that have already done what takes long.

Nearly all of a process's start goes into importing torch and collecting the tests. Once a process has died, spares are
started beside the next one: they import and collect, leave the device alone, and wait to be told which tests to run.
They are started afresh and not forked, since drivers do not survive that. A suite in which nothing dies starts no spare
and pays nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from .suite_run import SuiteRun
from .worker import Worker


class Pool:
    """Starts the processes of one suite.

    Args:
        say: called when spares are of no use on this device.
        left_out: files of the suite `upstream` that are left out from now on; may grow.

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
        """The process that runs these tests, or all when None: a spare where there is one, else a new one.

        Raises:
            ToolMissing: the device's Python cannot be started.

        """
        self._replaced += 1
        while self._spares and tests is not None:
            spare = self._spares.pop(0)
            if spare.take(tests):
                return spare
            self.give_up(spare)
        return self._start(tests, stands_by=False)

    def prepare(self, remaining: Callable[[], Sequence[str]]) -> None:
        """Start one more spare, unless there are as many as processes were replaced, or as are allowed.

        To be called while a test runs: the process that runs it is past its own start, so that on a device which only
        one process can open it is the spare that fails, and not the tests.

        Args:
            remaining: gives the tests that are still to be run; asked only where there is room for a spare, because
                there may be a hundred thousand.

        """
        if len(self._spares) >= min(self._replaced, self._allowed):
            return
        tests = remaining()
        if len(self._spares) < len(tests) - 1:
            self._spares.append(self._start(tests, stands_by=True))

    def give_up(self, spare: Worker) -> None:
        """Do without spares from now on, because one died that had run no test."""
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
