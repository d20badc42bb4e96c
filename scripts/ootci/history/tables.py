"""Values that many records share, written once each and named by the number of their line."""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ootci.errors import HistoryCorrupt
from ootci.model.outcome import Outcome
from ootci.model.record import Record

from .lines import read_lines

Shared = TypeVar("Shared", bound=Record)

RESTORE = "restore the file from the data branch's git history"


UNSEALED = -len(',"crc":"00000000"}')
"""Where the seal of a line begins, which ends it."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def compact(value: object) -> bytes:
    """A JSON value on one line: same value, same bytes."""
    return _encode(value).encode("utf-8", "surrogatepass")


class ValueTable:
    """A table of JSON values in a file; a missing file is an empty table.

    Values that are added by ``number_of`` get into the file by whoever writes what is ``unsaved``.

    Args:
        path: the file.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = read_lines(path)
        self._saved = len(self._lines)
        self._values: dict[int, Any] = {}
        self._records: dict[int, Record] = {}

    @cached_property
    def _numbers(self) -> dict[bytes, int]:
        return {line: number for number, line in enumerate(self._lines)}

    def number_of(self, value: object) -> int:
        """The number of a value, which is added where it is not there."""
        line = compact(value)
        number = self._numbers.get(line)
        if number is None:
            number = self._numbers[line] = len(self._lines)
            self._lines.append(line)
        return number

    def __len__(self) -> int:
        return len(self._lines)

    def value(self, number: int) -> Any:
        """The value of a number, not to be changed.

        Raises:
            HistoryCorrupt: there is no such value, or it is no JSON.

        """
        if number not in self._values:
            if not 0 <= number < len(self._lines):
                raise HistoryCorrupt(f"a record names line {number + 1}", where=str(self.path), fix=RESTORE)
            self._values[number] = _json(self._lines[number], self.path, number)
        return self._values[number]

    def record(self, kind: type[Shared], number: int) -> Shared:
        """The value of a number as a record, made once for all who name it.

        Raises:
            HistoryCorrupt: there is no such value, or it is no JSON.
            ValidationError: it is no such record.

        """
        found = self._records.get(number)
        if not isinstance(found, kind):
            found = self._records[number] = kind.model_validate(self.value(number))
        return found

    def checksum(self, numbers: Iterable[int], start: int) -> int:
        """The checksum ``start`` continued with the lines of values, in order.

        Raises:
            HistoryCorrupt: there is no such value.

        """
        for number in numbers:
            if number not in self._values:
                self.value(number)
            start = zlib.crc32(self._lines[number], start)
        return start

    def unsaved(self) -> list[bytes]:
        """The lines that are not in the file yet."""
        return self._lines[self._saved :]

    def saved(self) -> None:
        """Say that they are there now."""
        self._saved = len(self._lines)


class Test(NamedTuple):
    """What a run says of a test besides its outcome."""

    id: str
    suite: str
    capability: str | None
    title: str | None


class TestTable:
    """Every test that was ever in a run of any device; its row is the number of its line.

    A test whose suite, capability or title changes gets a row of its own from then on, so that past runs stay as they
    were; the rows of one id are never in one run together.

    Args:
        path: the file; without one, the table is in memory only.

    """

    __test__ = False
    """pytest takes it for no test of ours."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        lines = read_lines(path) if path else []
        self._lines = lines
        self._saved = len(lines)
        self.tests = [_test(line, path, number) for number, line in enumerate(lines) if path]
        self._checksums = [0]
        self._capabilities: list[str | None] = []
        self._masks: dict[frozenset[str], tuple[int, bytes]] = {}
        self._by_id: dict[str, list[int]] = {}
        self._known = 0
        self._sorted: list[tuple[str, int]] = []

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str | None, str | None], int]:
        return {test: row for row, test in enumerate(self.tests)}

    def __len__(self) -> int:
        return len(self.tests)

    def __getitem__(self, row: int) -> Test:
        return self.tests[row]

    def rows_of_id(self, test_id: str) -> tuple[int, ...]:
        """Every row that a test has had."""
        for row in range(self._known, len(self.tests)):
            self._by_id.setdefault(self.tests[row].id, []).append(row)
        self._known = len(self.tests)
        return tuple(self._by_id.get(test_id, ()))

    def with_prefix(self, prefix: str) -> Iterator[tuple[str, int]]:
        """The id and the row of each test whose id begins so, by id."""
        if len(self._sorted) < len(self.tests):
            self._sorted = sorted((test.id, row) for row, test in enumerate(self.tests))
        start = bisect_left(self._sorted, (prefix,))
        return takewhile(lambda item: item[0].startswith(prefix), islice(self._sorted, start, None))

    @property
    def capabilities(self) -> Sequence[str | None]:
        """The capability of each test, by row."""
        self._capabilities += [test.capability for test in self.tests[len(self._capabilities) :]]
        return self._capabilities

    def mask(self, suites: frozenset[str]) -> bytes:
        """A byte for each row: all bits where the test is of one of the suites, else none."""
        size, mask = self._masks.get(suites, (0, b""))
        if size < len(self.tests):
            mask += bytes(255 if test.suite in suites else 0 for test in self.tests[size:])
            self._masks[suites] = (len(self.tests), mask)
        return mask

    def rows_of(self, outcomes: Iterable[Outcome]) -> list[int]:
        """The row of each test of a run; tests that are new get one.

        The file gets them from whoever writes what is ``unsaved``.
        """
        rows, known, tests = [], self._rows, self.tests
        for item in outcomes:
            test = (item.id, item.suite, item.capability, item.title)
            row = known.get(test)
            if row is None:
                row = known[test] = len(tests)
                tests.append(Test(*test))
            rows.append(row)
        return rows

    def checksum(self, size: int) -> int:
        """The checksum of the first rows."""
        known = self._checksums
        for line in self._written(len(known) - 1, size):
            known.append(zlib.crc32(line, known[-1]))
        return known[size]

    def unsaved(self) -> list[bytes]:
        """The lines that are not in the file yet."""
        return self._written(self._saved, len(self.tests))

    def saved(self) -> None:
        """Say that they are there now."""
        self._saved = len(self.tests)

    def _written(self, first: int, end: int) -> list[bytes]:
        """The lines of some rows; a table in memory never needs one."""
        self._lines += [compact(_columns(test)) for test in self.tests[len(self._lines) :]]
        return self._lines[first:end]


def _columns(test: Test) -> Sequence[str | None]:
    columns = [test.id, test.capability, test.title]
    return columns if test.suite == test.id.partition("/")[0] else [*columns, test.suite]


def _test(line: bytes, path: Path, number: int) -> Test:
    columns = _json(line, path, number)
    if (
        not isinstance(columns, list)
        or len(columns) not in (3, 4)
        or not all(
            isinstance(column, str) or (column is None and place in (1, 2)) for place, column in enumerate(columns)
        )
    ):
        raise HistoryCorrupt("the line is no test", where=f"{path}:{number + 1}", fix=RESTORE)
    test_id, capability, title = columns[:3]
    return Test(test_id, columns[3] if len(columns) == 4 else test_id.partition("/")[0], capability, title)


def _json(line: bytes, path: Path, number: int) -> Any:
    try:
        return json.loads(line.decode("utf-8", "surrogatepass"))
    except ValueError as error:
        raise HistoryCorrupt(f"the line is no JSON: {error}", where=f"{path}:{number + 1}", fix=RESTORE) from error
