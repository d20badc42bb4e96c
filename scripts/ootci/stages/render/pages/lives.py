"""The nights of every test that was ever not passing: a page for each file of a suite, and the list of all files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import MappingProxyType

from ootci.history.ever_failed import ABSENT, FAILED, FLAKY, LETTERS, PASSED, SILENT, EverFailed
from ootci.model.cluster import Streak
from ootci.model.device import KnownFailure
from ootci.model.outcome import FAILURES, file_of
from ootci.model.plan import Plan
from ootci.model.record import Record
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import Change, DeviceVerdict, KnownFailureState
from ootci.model.words import many

from ..changes import streak_of
from ..nights import NightGrid, NightsOf, cells_of, night_grid, tiled
from ..page_maker import PageMaker
from ..places import Places, TestFile, anchor
from ..publish import File
from ..search import Entry
from ..status import OUTCOMES, Status
from ..text import one_line
from .published import Published, api_file
from .test_nights import LOOKS, last_failed, merged

ROWS = 200
"""Rows of a file's page, each of which is a test on a device; tests beyond are counted."""
DEVICES = 20
"""Devices that are shown for one test, those first on which it fails now; the others are counted."""
NAMED = 4
"""Devices that a row of the list names; the others are counted."""
LISTED = 300
"""Files in the list; the others are counted."""
NOW: Mapping[str, Status] = MappingProxyType(
    {
        **{LETTERS[name]: status for name, status in OUTCOMES.items()},
        ABSENT: Status("not in the run", "off", "never"),
        FAILED: Status("failing", "bad", "cross"),
        FLAKY: Status("flaky", "warn", "wave"),
        SILENT: Status("no report", "warn", "silent"),
    }
)
"""The outcome of a test on the newest nightly."""
_SEEN = frozenset("faxXn")
"""Outcomes that are looked at: their cells lead to the run. A row without any of them is not drawn."""
_TOP = "../../"


class KnownMark(Record):
    """The first entry of the vendor's list of known failures that names a test."""

    state: KnownFailureState
    """The entry's state on the newest nightly."""
    issue: str
    """Where it is being worked on."""


class DeviceLife(Record):
    """The outcome of a test on one device on which it was ever not passing."""

    device: str
    """Name of the device."""
    nights: str
    """A letter for each nightly of the file: `p` passed, `f` failed, in whichever way, `a` failed and passed on retry,
    `x` failed as expected, `X` passed against expectation, `n` collected and not run, `s` skipped, `u` unsupported,
    `_` the device was expected and did not report, `.` not in the run or the device was not expected."""
    last: str
    """The newest nightly on which it failed, or, if it did on none of these, was not passing."""
    signature: str | None
    """The id of what it fails of on the newest nightly; null where it does not fail."""
    streak: Streak | None
    """Since when it fails; null where it does not, or nobody knows."""
    flaky: bool
    """Whether it is on the list of flaky tests."""
    known: KnownMark | None
    """The vendor's declaration about it; null where there is none."""


class TestLife(Record):
    """A test that was ever not passing."""

    __test__ = False  # not a test of pytest, whatever its name

    id: str
    """The test."""
    page: str
    """Address of its nights for people."""
    devices: tuple[DeviceLife, ...]
    """The devices on which it was ever not passing, in registry order."""


class LifeFile(Published):
    """lives/<suite>/<file>.json: the newest nights of each test of a file that was ever not passing."""

    suite: str
    """The suite."""
    file: str
    """The file's name in its suite."""
    nights: tuple[str, ...]
    """The newest nightlies, oldest first."""
    tests: tuple[TestLife, ...]
    """Those first that fail on most devices."""
    more: int
    """How many such tests were left out because the file would be too long."""


class LifeEntry(Record):
    """A file of a suite."""

    suite: str
    """The suite."""
    file: str
    """The file's name in its suite."""
    tests: int
    """How many tests it has had."""
    ever: int
    """How many of them were ever not passing: neither passed, nor skipped or unsupported."""
    failing: int
    """How many of them fail on the newest nightly on any device."""
    path: str
    """Address of the file with their nights."""
    page: str
    """Address of the same for people."""


class LivesFile(Published):
    """lives.json: every file of a suite in which a test was ever not passing."""

    files: tuple[LifeEntry, ...]
    """Those first in which most tests fail on the newest nightly."""


@dataclass(frozen=True)
class DeviceLives:
    """What the pages need of one device: its tests that were ever not passing, and the ids of its flaky ones."""

    name: str
    found: EverFailed
    verdict: DeviceVerdict
    flaky: frozenset[str]

    @cached_property
    def failing(self) -> Mapping[str, Change]:
        """What the judge found of the tests that fail, by id."""
        return {change.id: change for change in self.verdict.changes if change.after in FAILURES}

    def has(self, rows: Sequence[int]) -> bool:
        """Whether a test was ever not passing on it."""
        return any(self.found.place(row) is not None for row in rows)

    def newest(self, rows: Sequence[int]) -> str:
        """The outcome of a test on the newest nightly."""
        states = self.found.newest
        return chr(max((states[row] for row in rows if row < len(states)), default=ord(ABSENT)))


class Lives:
    """The pages of all files, made of what was gathered from each device; ``plans`` are oldest first."""

    def __init__(
        self,
        places: Places,
        devices: Sequence[DeviceLives],
        plans: Sequence[Plan],
        builds: Mapping[str, TorchBuild],
    ) -> None:
        self._places = places
        self._devices = devices
        self._plans = plans
        width = min(len(plans), max((item.found.width for item in devices), default=0))
        self._nightlies = plans[len(plans) - width :]
        self._grid = night_grid(((plan.id, plan.created_at) for plan in self._nightlies), builds)
        self._values = {
            "plans": {plan.id: plan for plan in plans},
            "now": NOW,
            "grid": self._grid,
            "in_words": in_words,
            "first_devices": _first_devices,
            "by_nights": _by_nights,
        }
        # By test: the newest night on which it was not passing, and on how many devices it fails now.
        self._last: dict[str, int] = {}
        self._now: Counter[str] = Counter()
        for item in devices:
            for row, last in zip(item.found.rows, item.found.last, strict=True):
                test_id = places.tests[row].id
                self._last[test_id] = max(last, self._last.get(test_id, 0))
                self._now[test_id] += item.newest((row,)) == FAILED
        # By file: those tests first that fail on most devices, then those that failed last.
        self._ever: dict[str, list[str]] = {file.page: [] for file in places.files}
        for test_id in sorted(self._last, key=lambda test_id: (-self._now[test_id], -self._last[test_id], test_id)):
            if (file := places.file_of(test_id)) is not None:
                self._ever[file.page].append(test_id)

    def pages(self, maker: PageMaker) -> Iterator[File]:
        """The list of all files, the page of each with a test that was ever not passing, and the file of each page."""
        entries = {file.page: self._entry(file) for file in self._places.files}
        listed = sorted(
            entries.values(), key=lambda item: (-item.failing, one_line(item.suite, 60), one_line(item.file, 200))
        )
        yield maker.show(
            "t/index.html",
            "lives.html",
            rows=listed[:LISTED],
            total=len(listed),
            beyond=self._places.beyond,
            failing={entries[file.page].page: self._failing(file) for file in self._places.files},
            named_devices=NAMED,
        )
        yield api_file("lives.json", LivesFile(files=tuple(item for item in listed if item.ever)))
        for file in self._places.files:
            if self._ever[file.page]:
                life = self._life_file(file)
                passing = {test.id: self._passing(self._rows(test.id)) for test in life.tests}
                yield api_file(entries[file.page].path, life)
                yield maker.show(
                    file.page,
                    "life.html",
                    page=life,
                    others=[anchor(test_id) for test_id in self._ever[file.page][len(life.tests) :]],
                    of=file.tests,
                    passing=passing,
                    runs=maker.runs,
                    drawn=lambda row: nights_of_test(row.nights, self._nightlies, self._grid, maker.runs[row.device]),
                    **self._values,
                )

    def found(self) -> Iterator[Entry]:
        """Every test that was ever not passing and has a page, for the search; what failed last comes first."""
        for test_id in sorted(self._last, key=lambda test_id: (-self._last[test_id], test_id)):
            page = self._places.of(test_id)
            if page is not None:
                yield Entry("test", one_line(test_id, 200), page)

    def of_entry(self, entry: KnownFailure) -> str | None:
        """The page of the file that a list of known failures names, from the top; None where it has none."""
        file = self._places.file(entry.suite, file_of(entry.id, entry.suite))
        return file.page if file is not None and self._ever[file.page] else None

    def _rows(self, test_id: str) -> Sequence[int]:
        return self._places.tests.rows_of_id(test_id)

    def _entry(self, file: TestFile) -> LifeEntry:
        ever = self._ever[file.page]
        return LifeEntry(
            suite=file.suite,
            file=file.name,
            tests=file.tests,
            ever=len(ever),
            failing=sum(self._now[test_id] > 0 for test_id in ever),
            path=f"lives{file.page.removeprefix('t').removesuffix('/index.html')}.json",
            page=f"{_TOP}{file.page}",
        )

    def _failing(self, file: TestFile) -> list[tuple[str, int]]:
        """The devices on which tests of a file fail now, with how many do, the most first."""
        tests = [self._rows(test_id) for test_id in self._ever[file.page]]
        counts = [(item.name, sum(item.newest(rows) == FAILED for rows in tests)) for item in self._devices]
        return sorted((pair for pair in counts if pair[1]), key=lambda pair: -pair[1])

    def _passing(self, rows: Sequence[int]) -> int:
        """On how many devices a test passes on which it was never not passing."""
        return sum(item.newest(rows) == PASSED for item in self._devices if not item.has(rows))

    def _life_file(self, file: TestFile) -> LifeFile:
        ever = self._ever[file.page]
        tests: list[TestLife] = []
        shown = 0
        for test_id in ever:
            rows = self._rows(test_id)
            devices = tuple(self._life(item, test_id, rows) for item in self._devices if item.has(rows))
            shown += min(len(devices), DEVICES)
            if shown > ROWS:
                break
            tests.append(TestLife(id=test_id, page=f"../../{_TOP}{file.page}#{anchor(test_id)}", devices=devices))
        return LifeFile(
            suite=file.suite,
            file=file.name,
            nights=tuple(plan.id for plan in self._nightlies),
            tests=tuple(tests),
            more=len(ever) - len(tests),
        )

    def _life(self, item: DeviceLives, test_id: str, rows: Sequence[int]) -> DeviceLife:
        places = [place for row in rows if (place := item.found.place(row)) is not None]
        nights = merged(*(item.found.nights(place).decode() for place in places))
        failed = last_failed(nights)
        ever_failed = max(item.found.last[place] for place in places)
        change = item.failing.get(test_id)
        known = next((found for found in item.verdict.known_failures if found.entry.matches(test_id)), None)
        return DeviceLife(
            device=item.name,
            nights=nights,
            last=self._plans[len(self._plans) - len(nights) + failed if failed >= 0 else ever_failed].id,
            signature=change.signature if change is not None else None,
            streak=streak_of(change, item.verdict.streaks) if change is not None else None,
            flaky=test_id in item.flaky,
            known=KnownMark(state=known.state, issue=known.entry.issue) if known is not None else None,
        )


def nights_of_test(letters: str, plans: Sequence[Plan], grid: NightGrid, pages: Mapping[str, str]) -> NightsOf:
    """The nights of a test on a device. Changes and flakes lead to the run, all else to the nightly of its column."""
    told = tuple(zip(plans, letters, strict=True))
    sides = zip(f"{ABSENT}{letters}", f"{letters[1:]}{ABSENT}", strict=False)
    linked = {
        plan.id: pages[plan.id]
        for (plan, letter), near in zip(told, sides, strict=True)
        if letter in _SEEN and (letter == FLAKY or {letter} != {*near}) and plan.id in pages
    }
    return tiled(grid.width, cells_of(told, grid, LOOKS, linked), in_words(letters))


def _by_nights(tests: Sequence[TestLife]) -> list[list[TestLife]]:
    """Tests with the same nights, error and notes on the same devices, at the place of the first of them."""
    found: dict[tuple[DeviceLife, ...], list[TestLife]] = {}
    for test in tests:
        found.setdefault(test.devices, []).append(test)
    return list(found.values())


def _first_devices(test: TestLife) -> tuple[list[DeviceLife], list[DeviceLife]]:
    """The devices that a page shows of a test, those first on which it fails now; then those without a night to see."""
    found = sorted(test.devices, key=lambda item: not item.nights.endswith("f"))[:DEVICES]
    seen = [item for item in found if _SEEN & set(item.nights)]
    return seen, [item for item in found if item not in seen]


@lru_cache(maxsize=2_000)
def in_words(nights: str) -> str:
    """The outcome of a test, without when: ``failed on 3 of 28 nights, passed again on 1 of them``."""
    ran = many(sum(map(nights.count, "pfaxX")), "night")
    parts = []
    if failed := sum(map(nights.count, "fa")):
        parts.append(f"failed on {failed} of {ran}")
    if again := nights.count("a"):
        parts.append(f"passed again on {again} of them")
    if expected := nights.count("x"):
        parts.append(f"failed as expected on {expected} of {ran}")
    if unexpected := nights.count("X"):
        parts.append(f"passed against expectation on {unexpected} of {ran}")
    if missing := nights.count("n"):
        parts.append(f"collected and not run on {many(missing, 'night')}")
    return ", ".join(parts)
