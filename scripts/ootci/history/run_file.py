"""The runs of one device in one month, decoded no further than is asked for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path

from ootci.errors import HistoryCorrupt

from .lines import read_lines
from .past_run import PastRun
from .run_lines import Line, open_line, read_line, write_line
from .stored import StoredRun
from .tables import RESTORE, TestTable, ValueTable


class RunFile:
    """One file of runs; a missing one is empty.

    Args:
        path: the file.
        device: the device that reported.
        tests: the table of tests.
        values: the table of the file's month.

    """

    def __init__(self, path: Path, device: str, tests: TestTable, values: ValueTable) -> None:
        self.path = path
        self.device = device
        self.lines = read_lines(path)
        self._tests = tests
        self._values = values
        self._opened: list[Line] = []

    @cached_property
    def keys(self) -> dict[tuple[str, int], int]:
        """The number of the line of each run, by nightly and attempt.

        Raises:
            HistoryCorrupt: a line is no run.

        """
        keys: dict[tuple[str, int], int] = {}
        for number, text in enumerate(self.lines):
            try:
                line = json.loads(text)
                keys.setdefault((str(line["plan"]), int(line["attempt"])), number)
            except (ValueError, KeyError, TypeError) as error:
                raise HistoryCorrupt(f"the line is no run: {error!r}", where=self.where(number), fix=RESTORE) from error
        return keys

    def run(self, number: int) -> StoredRun:
        """The run of a line.

        Raises:
            HistoryCorrupt: the line, or one before it, cannot be read back.
            StageFileVersion: a newer version of the tool wrote it.

        """
        return read_line(self.device, self._line(number), self._tests, self._values, self.where(number))

    def runs(self) -> Iterator[StoredRun]:
        """Every run, in the order of arrival; raises as :meth:`run`."""
        return (self.run(number) for number in range(len(self.lines)))

    def past(self) -> Iterator[PastRun]:
        """Every run, in the order of arrival, each to be read when it is asked for.

        Raises:
            HistoryCorrupt: a line is no run.

        """
        for number, text in enumerate(self.lines):
            try:
                line = json.loads(text)
                at = datetime.fromisoformat(str(line["at"]).replace("Z", "+00:00"))
                named = str(line["plan"]), int(line["attempt"]), str(line["id"])
            except (ValueError, KeyError, TypeError) as error:
                raise HistoryCorrupt(f"the line is no run: {error!r}", where=self.where(number), fix=RESTORE) from error
            yield PastRun(self.device, *named, at, partial(self.run, number))

    def add(self, run: StoredRun) -> bytes:
        """Make a run the last one and return its line, which the file gets from whoever keeps it.

        Raises:
            HistoryCorrupt: a line cannot be read back.

        """
        # Two candidates are enough: what the month began with, and the run before. A flaky test differs from one of
        # them.
        count = len(self.lines)
        bases = {number: self._line(number).states for number in {0, count - 1} if count}
        line = write_line(run, self._tests, self._values, bases)
        self.keys[run.head.plan_id, run.head.attempt] = count
        self.lines.append(line)
        return line

    def where(self, number: int) -> str:
        """The place of a line, for errors."""
        return f"{self.path}:{number + 1}"

    def _line(self, number: int) -> Line:
        while len(self._opened) <= number:
            place = len(self._opened)
            earlier = [line.states for line in self._opened]
            self._opened.append(open_line(self.lines[place], self._tests, self._values, earlier, self.where(place)))
        return self._opened[number]
