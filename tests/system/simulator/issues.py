"""Which issues there have to be: for each real event one that is opened, and one comment when it is closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations

from ootci.model.alert import Condition, Remembered
from ootci.model.verdict import BROKEN, VerdictName

from .event import Blame, Event, Kind
from .page import Expected, Page
from .world import World

GOOD_NIGHTS = 3
PATIENCE = {VerdictName.INFRA: 2, VerdictName.NEVER_RAN: 3}
"""Nights in a row after which a verdict gets an issue, where it is not one."""
_UNSEEN = (VerdictName.PAUSED, VerdictName.NEVER_RAN, VerdictName.NO_DATA)
_NO_TESTS = (
    *_UNSEEN,
    VerdictName.INFRA,
    VerdictName.BUILD_BROKEN,
    VerdictName.IMPORT_BROKEN,
    VerdictName.LOST_TESTS,
)

Key = tuple[Condition, str | int]
"""What an issue is about: a device by its name, or what PyTorch broke by the number of the event; what is taken for
PyTorch's and is not, by the names of the devices."""


@dataclass
class _Issue:
    opened: int = 0
    closed: int = 0
    is_open: bool = False
    good: int = 0


@dataclass
class Issues:
    """The issues, page by page.

    Attributes:
        world: the invented world.
        found: how often an issue has to be opened and closed.

    """

    world: World
    found: dict[Key, _Issue] = field(default_factory=dict)
    _rows: Counter[Key] = field(default_factory=Counter)
    _shown_by: dict[int, set[int]] = field(default_factory=dict)

    def add(self, page: Page) -> None:
        """What a page makes of the issues."""
        shared = self._shared(page)
        for item in page.devices:
            name = self.world.makers[item.device].name
            self._device(name, item, shared)
            self._row((Condition.INFRASTRUCTURE, name), item, item.verdict is VerdictName.INFRA)
            silent = item.verdict in (VerdictName.NO_DATA, VerdictName.NEVER_RAN)
            self._row((Condition.SILENT, name), item, silent)

    def _shared(self, page: Page) -> set[int]:
        """What PyTorch broke on several devices; once it did, it is one event, however few of them show it still."""
        numbers = {number for item in page.devices for number in item.broken_by}
        upstream = {number for number in numbers if self.world.events[number].blame is Blame.UPSTREAM}
        for number in upstream:
            shown = {item.device for item in page.devices if number in item.broken_by}
            key: Key = (Condition.UPSTREAM, number)
            if len(shown) > 1 and not self._is_open(key):
                self._take_over(key, self._shown_by.get(number, set()))
            self._shown_by.setdefault(number, set()).update(shown)
            if self._is_open(key):
                self.found[key].good = 0
        for (condition, number), issue in self.found.items():
            if condition is Condition.UPSTREAM and issue.is_open and number not in numbers and isinstance(number, int):
                ran = [item for item in page.devices if item.device in self._shown_by[number]]
                issue.good += any(item.verdict not in _NO_TESTS and not item.stands_in for item in ran)
                self._close(issue)
        return {number for number in upstream if self._is_open((Condition.UPSTREAM, number))}

    def _take_over(self, key: Key, shown_before: set[int]) -> None:
        """Open an issue for several devices: the one of the device that showed it first, if there is one."""
        for device in shown_before:
            first = self.found.get((Condition.BROKEN, self.world.makers[device].name))
            if first is not None and first.is_open:
                first.is_open, first.opened = False, first.opened - 1
                break
        self._open(key)

    def _device(self, name: str, item: Expected, shared: set[int]) -> None:
        key: Key = (Condition.BROKEN, name)
        # A suite that does not come to its end is the device's own, whatever else fails there.
        own = item.verdict is VerdictName.LOST_TESTS or any(event.kind is Kind.CUT_REPORT for event in item.news)
        own |= not item.broken_by <= shared
        if item.verdict in BROKEN and not item.stands_in and own:
            self._open(key)
        elif self._is_open(key):
            self.found[key].good = item.good
            self._close(self.found[key])

    def _row(self, key: Key, item: Expected, shown: bool) -> None:
        """Count the nights in a row on which something was so, and open an issue when they are enough."""
        if shown:
            self._rows[key] += 1
            if self._rows[key] >= PATIENCE.get(item.verdict, 1):
                self._open(key)
        elif item.verdict is not VerdictName.PAUSED and not item.stands_in:
            unseen = item.verdict in _UNSEEN
            self._rows[key] = 0
            if self._is_open(key) and not unseen:
                self.found[key].good += 1
                self._close(self.found[key])

    def _is_open(self, key: Key) -> bool:
        return key in self.found and self.found[key].is_open

    def _open(self, key: Key) -> None:
        issue = self.found.setdefault(key, _Issue())
        issue.opened += not issue.is_open
        issue.is_open, issue.good = True, 0

    def _close(self, issue: _Issue) -> None:
        if issue.good >= GOOD_NIGHTS:
            issue.is_open, issue.closed = False, issue.closed + 1


@dataclass
class IssueScore:
    """The issues that there were, by what each was about when it was opened, held against those there have to be.

    Attributes:
        world: the invented world.
        wanted: the issues that there have to be.
        coincidences: of events that broke the same test or stage of different devices on one night, their numbers and
            the names of the devices. No report tells them apart: they are one issue, or one for each.
        opened: how often an issue was opened, or opened again.
        closed: how often one was closed, each time with a comment.

    """

    world: World
    wanted: Issues = field(init=False)
    coincidences: dict[frozenset[int], frozenset[str]] = field(default_factory=dict)
    opened: Counter[Key] = field(default_factory=Counter)
    closed: Counter[Key] = field(default_factory=Counter)
    _subjects: dict[int, Key] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with no issue."""
        self.wanted = Issues(self.world)

    def add(self, page: Page, kept: Mapping[int, Remembered], opened: Iterable[int], closed: Iterable[int]) -> None:
        """Add a night.

        Args:
            page: what the page of the night has to say.
            kept: what each issue remembers after that night, by number.
            opened: numbers of the issues that were opened, or opened again.
            closed: numbers of those that were closed.

        """
        for number in opened:
            self._subjects[number] = self._subject(kept[number], page)
            self.opened[self._subjects[number]] += 1
        for number, subject in list(self._subjects.items()):
            # What one device showed first has become the issue of all that show it.
            if subject[0] is Condition.BROKEN and kept[number].condition is Condition.UPSTREAM:
                self._subjects[number] = self._subject(kept[number], page)
                self.opened.update({subject: -1, self._subjects[number]: 1})
        self.closed.update(self._subjects[number] for number in closed)
        self.wanted.add(page)
        broken = [(item, event) for item in page.devices for event in self._breaking(item)]
        for (one, event), (other, second) in combinations(broken, 2):
            same = self._broken(event) & self._broken(second) and one.device != other.device and event != second
            if same and self._overlap(one, event, other, second):
                names = {self.world.makers[item.device].name for item in (one, other)}
                pair = frozenset({event.number, second.number})
                self.coincidences[pair] = self.coincidences.get(pair, frozenset()) | names

    def _breaking(self, item: Expected) -> list[Event]:
        cut = [event for event in item.news if event.kind is Kind.CUT_REPORT]
        return [*(self.world.events[number] for number in sorted(item.broken_by)), *cut]

    def _overlap(self, one: Expected, event: Event, other: Expected, second: Event) -> bool:
        """Whether both may have begun at once, as far as the reports tell; of a stage, the night of the news does."""
        if not event.tests:
            return event in one.news and second in other.news
        rows = [item.rows.get(of.tests[0], (None, 0)) for item, of in ((one, event), (other, second))]
        last, first = (-1 if row[0] is None else row[0] for row in rows), (row[1] for row in rows)
        return max(last) < min(first)

    def _broken(self, event: Event) -> set[str]:
        """The tests that an event breaks, or the stage."""
        stage = "integration" if event.kind is Kind.CUT_REPORT else event.kind.value.partition(" ")[0]
        return {self.world.test_ids[test] for test in event.tests} or {stage}

    def _subject(self, kept: Remembered, page: Page) -> Key:
        """What an issue is about on a night: where it is about several devices the event, by its devices and tests."""
        if kept.condition is not Condition.UPSTREAM:
            return (kept.condition or Condition.BROKEN, kept.subject)
        names = set(kept.devices)
        for number in sorted({number for item in page.devices for number in item.broken_by}):
            event = self.world.events[number]
            shown = {self.world.makers[item.device].name for item in page.devices if number in item.broken_by}
            if event.blame is Blame.UPSTREAM and names <= shown and self._broken(event) & set(kept.tests):
                return (Condition.UPSTREAM, number)
        return (Condition.UPSTREAM, ", ".join(sorted(names)))

    @property
    def mistakes(self) -> list[str]:
        """What was opened or closed too often, or not often enough."""
        wanted = {key: (item.opened, item.closed) for key, item in self.wanted.found.items() if item.opened}
        found = {key: (self.opened[key], self.closed[key]) for key in self.opened if self.opened[key]}
        return [
            f"{key}: opened {of[0]} and closed {of[1]} times, not {to[0]} and {to[1]}"
            for key in sorted({*found, *wanted}, key=str)
            for of, to in [(found.get(key, (0, 0)), wanted.get(key, (0, 0)))]
            if not all(self._may_differ(key, one - other) for one, other in zip(to, of, strict=True))
        ]

    def _may_differ(self, key: Key, missing: int) -> bool:
        """Whether so many may be missing, or as a negative number too many, because of coincidences."""
        names = _together(key)
        if names:
            return -sum(names <= devices for devices in self.coincidences.values()) <= missing <= 0
        return 0 <= missing <= sum(count for one, count in self.opened.items() if self._stands_for(one, key))

    def _stands_for(self, one: Key, key: Key) -> bool:
        """Whether an issue about several devices is in place of one that has to be, because of a coincidence."""
        names, about, wanted = _together(one), one[1], key[1]
        return one != key and any(
            (wanted in devices or wanted in pair) and (about in pair or (bool(names) and names <= devices))
            for pair, devices in self.coincidences.items()
        )


def _together(key: Key) -> frozenset[str]:
    """The devices of an issue about what is no event of PyTorch's; none of any other issue."""
    condition, about = key
    return frozenset(about.split(", ")) if condition is Condition.UPSTREAM and isinstance(about, str) else frozenset()
