"""Which issues there have to be: for each real event one that is opened, and one comment when it is closed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ootci.model.alert import Condition
from ootci.model.verdict import BROKEN, VerdictName

from .event import Blame
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
"""What an issue is about: a device by its name, or what PyTorch broke by the number of the event."""


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
        own = item.verdict is VerdictName.LOST_TESTS or not item.broken_by <= shared
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
