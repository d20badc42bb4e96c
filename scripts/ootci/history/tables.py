"""The tests of runs: lists in files, which runs name by digest, and a table in memory of all tests of all lists."""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from ootci.errors import HistoryCorrupt
from ootci.model.outcome import Outcome

from .layout import RESTORE
from .states import number_of, number_with

_JSON = json.JSONEncoder(separators=(",", ":"))
"""Made once: ``json.dumps`` would make one for each test."""


class Test(NamedTuple):
    """A test's columns besides its outcome."""

    id: str
    suite: str
    capability: str | None
    title: str | None


def write_list(outcomes: Sequence[Outcome]) -> bytes:
    """The file of the list of tests, all of one suite, that have these outcomes: the suite, then a line each."""
    lines = [_JSON.encode((item.id, item.capability, item.title)) for item in outcomes]
    return "".join(f"{line}\n" for line in (json.dumps(outcomes[0].suite), *lines)).encode()


def list_digest(content: bytes) -> str:
    """The key in the name of a list's file."""
    return hashlib.sha256(content).hexdigest()[:32]


def read_list(path: Path) -> list[Test]:
    """The tests of a list's file.

    Raises:
        HistoryCorrupt: it cannot be read back, or is not the list of its name.

    """
    try:
        content = path.read_bytes()
        if list_digest(content) != path.stem:
            raise ValueError("its content does not match its name")
        suite, *tests = json.loads(b"[%b]" % b",".join(content.splitlines()))
        return [Test(test_id, suite, capability, title) for test_id, capability, title in tests]
    except (OSError, ValueError) as error:
        raise HistoryCorrupt(f"the tests cannot be read back: {error}", where=str(path), fix=RESTORE) from error


class Span(NamedTuple):
    """Tests in sequence, in the table and in a run's file."""

    row: int
    place: int
    size: int


@dataclass(frozen=True)
class Places:
    """Which rows of the table the tests of a run have, and which places in the run's file: sequences, by row."""

    spans: tuple[Span, ...]

    @classmethod
    def of(cls, rows: Sequence[int]) -> Places:
        """The places of rows that are given in the order of the file."""
        starts = [place for place, row in enumerate(rows) if place == 0 or row != rows[place - 1] + 1]
        ends = [*starts[1:], len(rows)]
        spans = (Span(rows[start], start, end - start) for start, end in zip(starts, ends, strict=False))
        return cls(tuple(sorted(spans)))

    @classmethod
    def joined(cls, lists: Iterable[Places]) -> Places:
        """The places in a file that has the tests of some lists, one list after the other."""
        spans: list[Span] = []
        first = 0
        for found in lists:
            spans += [Span(row, first + place, size) for row, place, size in found.spans]
            first += found.size
        return cls(tuple(sorted(spans)))

    @cached_property
    def size(self) -> int:
        """How many tests there are."""
        return sum(span.size for span in self.spans)

    def place(self, row: int) -> int:
        """The place of a row of the run."""
        span = self.spans[bisect_right(self.spans, (row, self.size)) - 1]
        return span.place + row - span.row

    @cached_property
    def rows(self) -> array[int]:
        """The row of each place."""
        spans = sorted(self.spans, key=lambda span: span.place)
        return array("I", (row for span in spans for row in range(span.row, span.row + span.size)))


class TestTable:
    """Every test that was ever in a run of any device, in memory; a test's row is its number.

    A test whose suite, capability or title changes gets a row of its own from then on, so that past runs stay as they
    were; the rows of one id are never in one run together.
    """

    __test__ = False
    """pytest takes it for no test of ours."""

    def __init__(self) -> None:
        self.tests: list[Test] = []
        self.by_capability: dict[str, list[int]] = {}
        """The rows of the tests of each capability."""
        # What takes the states of each capability's tests out of those of all, and for how many tests it was made.
        self._chosen: list[tuple[str, Callable[[bytes], tuple[int, ...]]]] = []
        self._chosen_of = 0
        self._rows: dict[Test, int] = {}
        self._masks: dict[frozenset[str], tuple[int, int]] = {}
        self._by_id: dict[str, tuple[int, ...]] = {}
        self._with_others = 0, 0
        self._sorted: list[tuple[str, int]] = []

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, row: int) -> Test:
        return self.tests[row]

    def rows_of_id(self, test_id: str) -> Sequence[int]:
        """Every row that a test has had."""
        return self._by_id.get(test_id, ())

    @property
    def with_others(self) -> int:
        """A number with a byte for each row: all bits where the test has had another row, too, else none."""
        if self._with_others[0] < len(self.tests):
            several = [row for rows in self._by_id.values() if len(rows) > 1 for row in rows]
            self._with_others = len(self.tests), number_with(several)
        return self._with_others[1]

    def states_by_capability(self, states: bytes) -> Iterator[tuple[str, bytes]]:
        """The states of the tests of each capability, of as many states as there are tests."""
        if self._chosen_of < len(self.tests):
            # Given one row only, an itemgetter gives no tuple.
            self._chosen = [(name, itemgetter(*rows, rows[0])) for name, rows in sorted(self.by_capability.items())]
            self._chosen_of = len(self.tests)
        return ((name, bytes(chosen(states)[:-1])) for name, chosen in self._chosen)

    def with_prefix(self, prefix: str) -> Iterator[tuple[str, int]]:
        """The id and the row of each test whose id begins so, by id."""
        if len(self._sorted) < len(self.tests):
            self._sorted = sorted((test.id, row) for row, test in enumerate(self.tests))
        start = bisect_left(self._sorted, (prefix,))
        return takewhile(lambda item: item[0].startswith(prefix), islice(self._sorted, start, None))

    def mask(self, suites: frozenset[str]) -> int:
        """A number with a byte for each row: all bits where the test is of one of the suites, else none."""
        size, mask = self._masks.get(suites, (0, 0))
        if size < len(self.tests):
            added = bytes(255 if test.suite in suites else 0 for test in self.tests[size:])
            mask |= number_of(added) << 8 * size
            self._masks[suites] = (len(self.tests), mask)
        return mask

    def rows_of(self, tests: Iterable[Test]) -> list[int]:
        """The row of each test; tests that are new get one."""
        rows = []
        for test in tests:
            row = self._rows.get(test)
            if row is None:
                row = self._rows[test] = len(self.tests)
                self.tests.append(test)
                self._by_id[test.id] = (*self.rows_of_id(test.id), row)
                if test.capability is not None:
                    self.by_capability.setdefault(test.capability, []).append(row)
            rows.append(row)
        return rows


def tests_of(outcomes: Iterable[Outcome]) -> Iterator[Test]:
    """The tests of outcomes."""
    return (Test(item.id, item.suite, item.capability, item.title) for item in outcomes)
