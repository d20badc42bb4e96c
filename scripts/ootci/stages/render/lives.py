"""The nights of every test that was ever not passing: a page for each file of a suite, and the list of all files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ootci.history.not_passing import Came
from ootci.model.device import KnownFailure
from ootci.model.plan import Plan

from .life_row import DeviceLives, LifeRow, life_row, newest
from .listed import Alike, NamedDevice
from .places import Places, TestFile, anchor, file_of
from .text import one_line
from .words import day

ROWS = 400
"""Rows of a file's page, each of which is a test on a device; tests beyond are counted."""
DEVICES = 20
"""Devices that are shown for one test, those first on which it fails now; the others are counted."""
NAMED = 4
"""Devices that a row of the list names; the others are counted."""
LISTED = 300
"""Files in the list; the others are counted."""


@dataclass(frozen=True)
class TestLife:
    """A test that was ever not passing, on each device on which it was.

    Attributes:
        id: the test. Hostile until escaped.
        name: its name in the file.
        anchor: what its element is called.
        rows: the devices.
        more: how many of them are not shown.
        passing: how many other devices it passed on, on the newest nightly.

    """

    __test__ = False
    """pytest takes it for no test of ours."""

    id: str
    name: str
    anchor: str
    rows: tuple[LifeRow, ...]
    more: int
    passing: int


@dataclass(frozen=True)
class FilePage:
    """Everything that the page of a file shows."""

    file: TestFile
    name: str
    tests: tuple[TestLife, ...]
    total: int
    nights: int
    first: str
    last: str

    @property
    def more(self) -> int:
        """Tests that are not shown."""
        return self.total - len(self.tests)


@dataclass(frozen=True)
class FileRow:
    """A file in the list.

    Attributes:
        file: the file.
        suite: its suite, as it is shown.
        name: its name in the suite, as it is shown.
        href: its page's address from the top; None where none of its tests was ever not passing.
        tests: how many there were on any night.
        ever: how many of them were ever not passing.
        failing: how many of them fail on the newest nightly on any device.
        devices: the first devices on which they fail, with how many of them fail there.
        more: how many other devices they fail on.

    """

    file: TestFile
    suite: str
    name: str
    href: str | None
    tests: int
    ever: int
    failing: int
    devices: tuple[tuple[NamedDevice, int], ...]
    more: int


@dataclass(frozen=True)
class FileList:
    """The list of files; ``beyond`` is how many have no page."""

    rows: tuple[FileRow, ...]
    total: int
    beyond: int

    @property
    def more(self) -> int:
        """Files that are not shown."""
        return self.total - len(self.rows)


class Lives:
    """The pages of all files, made of what was gathered from each device.

    Args:
        places: where each test's place is.
        devices: every device that ever reported, in registry order.
        plans: every nightly, oldest first.
        alike: what fails alike on the newest nightly, by the signature's id.

    """

    def __init__(
        self, places: Places, devices: Sequence[DeviceLives], plans: Sequence[Plan], alike: Mapping[str, Alike]
    ) -> None:
        self._places = places
        self._devices = devices
        self._plans = plans
        self._alike = alike
        self._found: dict[str, list[str]] = {}
        # By row: the newest night on which it was not passing, and on how many devices it fails now.
        self._last: dict[int, int] = {}
        self._now: Counter[int] = Counter()
        for item in devices:
            for row, last in zip(item.found.rows, item.found.last, strict=True):
                self._last[row] = max(last, self._last.get(row, 0))
                self._now[row] += newest(item, (row,)) is Came.FAILED

    @cached_property
    def rows(self) -> tuple[FileRow, ...]:
        """Every file, those first in which most tests fail now."""
        rows = map(self._row, self._places.files)
        return tuple(sorted(rows, key=lambda row: (-row.failing, row.suite, row.name)))

    @cached_property
    def listed(self) -> FileList:
        """The list of files."""
        return FileList(self.rows[:LISTED], len(self.rows), self._places.beyond)

    def pages(self) -> Iterator[FilePage]:
        """The page of each file with a test that was ever not passing, made one by one."""
        for file in self._places.files:
            ever = self._ever(file)
            if ever:
                yield self._page(file, ever)

    def of_entry(self, entry: KnownFailure) -> str | None:
        """The page of the file that a list of known failures names, from the top; None where it has none."""
        file = self._places.file(entry.suite, file_of(entry.id, entry.suite))
        return file.page if file is not None and self._ever(file) else None

    def _ever(self, file: TestFile) -> list[str]:
        """The tests that were ever not passing: those first that fail on most devices, then what failed last."""
        if file.page not in self._found:
            found = [
                (-sum(self._now[row] for row in rows), -max(self._last.get(row, -1) for row in rows), test_id)
                for test_id, rows in file.tests.items()
                if any(row in self._last for row in rows)
            ]
            self._found[file.page] = [test_id for *_, test_id in sorted(found)]
        return self._found[file.page]

    def _row(self, file: TestFile) -> FileRow:
        ever = self._ever(file)
        by_device = [
            (item.named, sum(newest(item, file.tests[test_id]) is Came.FAILED for test_id in ever))
            for item in self._devices
        ]
        failing = sorted((pair for pair in by_device if pair[1]), key=lambda pair: -pair[1])
        return FileRow(
            file=file,
            suite=one_line(file.suite, 60),
            name=one_line(file.name, 200),
            href=file.page if ever else None,
            tests=len(file.tests),
            ever=len(ever),
            failing=sum(any(self._now[row] for row in file.tests[test_id]) for test_id in ever),
            devices=tuple(failing[:NAMED]),
            more=len(failing[NAMED:]),
        )

    def _page(self, file: TestFile, ever: Sequence[str]) -> FilePage:
        tests: list[TestLife] = []
        rows = 0
        for test_id in ever:
            life = self._life(file, test_id)
            rows += len(life.rows)
            if rows > ROWS:
                break
            tests.append(life)
        width = min(len(self._plans), max(item.found.width for item in self._devices))
        return FilePage(
            file=file,
            name=one_line(f"{file.suite}/{file.name}", 200),
            tests=tuple(tests),
            total=len(ever),
            nights=width,
            first=day(self._plans[-width].created_at),
            last=day(self._plans[-1].created_at),
        )

    def _life(self, file: TestFile, test_id: str) -> TestLife:
        rows = file.tests[test_id]
        on = [item for item in self._devices if any(item.found.place(row) is not None for row in rows)]
        names = {item.device.name for item in on}
        on.sort(key=lambda item: newest(item, rows) is not Came.FAILED)
        return TestLife(
            id=test_id,
            name=one_line(test_id.partition("::")[2] or test_id),
            anchor=anchor(test_id),
            rows=tuple(life_row(item, test_id, rows, self._plans, self._alike) for item in on[:DEVICES]),
            more=len(on[DEVICES:]),
            passing=sum(newest(item, rows) is Came.PASSED for item in self._devices if item.device.name not in names),
        )
