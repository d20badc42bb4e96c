"""Errors without a cluster's page: those of past nights, whose page is kept for a while, and the rarest of tonight."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ootci.history.ever_failed import FAILED, PASSED, SILENT
from ootci.history.named import KEPT, NOWHERE, Border, NamedFailure, NamedFailures
from ootci.history.nights import CommitCounts, streak_between
from ootci.model.cluster import Mark, Streak
from ootci.model.plan import Plan
from ootci.model.record import Record
from ootci.model.torch_build import TorchBuild
from ootci.model.words import many

from ..links import cluster_path
from ..nights import FRONT_NIGHTS, Cell, Look, NightGrid, NightsOf, cells_of, night_grid, tiled
from ..search import Entry
from ..text import one_line

PAGES = 3_000
"""The most names with a page, those seen last."""
LATELY = 14
"""Names that went on one of so many of the newest nightlies are on the list."""
LISTED = 100
NEW_ERRORS = 20
"""The most errors that a nightly's page lists as first seen on it."""
DEVICES = 50
"""Devices that a page shows; the others are counted."""


@dataclass(frozen=True)
class DeviceFailures:
    """What the pages need of one device; ``runs`` has the addresses of its runs' pages, by nightly."""

    name: str
    named: NamedFailures
    runs: Mapping[str, str]


@dataclass(frozen=True)
class NameRow:
    """A name's nights on one device; ``last`` is the last night with this error, and ``href`` where its text is."""

    device: str
    nights: NightsOf
    last: Plan
    href: str | None
    failure: NamedFailure


@dataclass(frozen=True)
class Turn:
    """Where an error began or ended, on the device whose nights tell it best.

    Attributes:
        passed: the nearest night on which the same tests passed; None where none is known.
        is_unbroken: whether the device had the error on all its nights from the first to the last; if not, no range of
            commits explains it.
        between: what changed between the two nights; None where one is not known, or it is not unbroken.

    """

    device: str
    failed: Mark
    passed: Mark | None
    is_unbroken: bool
    between: Streak | None


@dataclass(frozen=True)
class NameNights:
    """All nights of a name.

    Attributes:
        text: the text of the failure.
        began: where it began, of the first nights.
        ended: where it ended, of the last nights.
        open_on: how many devices are not known to have passed since.
        tests: the tests and stages of all rows that the rows list.
        is_tonight: whether the newest nightly has it.
        is_cut: whether further devices may have had it since its first night, of which not all errors are kept.
        first: the first night with this error, of those that are looked at.
        is_open: whether earlier nights, which are not looked at, may have it, too.
        rows: the devices, latest failure first.
        devices: how many there are in all.

    """

    text: str
    grid: NightGrid
    first: Plan
    is_open: bool
    last: Plan
    rows: tuple[NameRow, ...]
    devices: int
    began: Turn | None
    ended: Turn | None
    open_on: int
    tests: tuple[str, ...]
    is_tonight: bool
    is_cut: bool

    @property
    def is_resolved(self) -> bool:
        """Whether it ended on every device, and did not come and go where it was seen last."""
        return not self.open_on and self.ended is not None and self.ended.is_unbroken


class NewError(Record):
    """An error that was first seen on a nightly."""

    id: str
    """Id of its signature."""
    text: str
    """The text that its failures have in common."""
    devices: tuple[str, ...]
    """Names of the devices that had it on that nightly."""
    page: str | None
    """Address of its page for people; null where it has none."""


class Names:
    """The names of all failures of the newest nights.

    Args:
        plans: every nightly, oldest first.
        current: ids of the names that have a page as clusters of the newest nightly.
        builds: the build of PyTorch of each nightly, where it is known.

    """

    def __init__(
        self,
        devices: Sequence[DeviceFailures],
        plans: Sequence[Plan],
        current: frozenset[str],
        builds: Mapping[str, TorchBuild] | None = None,
    ) -> None:
        self._builds = builds
        self._current = current
        self._plans = plans[-KEPT:]
        self._counts = CommitCounts(plan.new_commits for plan in plans)
        self._has_earlier = len(plans) > KEPT
        self._devices = devices
        self._tonight = frozenset[str]().union(*(item.named.newest for item in devices))
        self._by_name: dict[str, list[tuple[DeviceFailures, NamedFailure]]] = {}
        for item in devices:
            for name, failure in item.named.found.items():
                self._by_name.setdefault(name, []).append((item, failure))
        gone = [name for name in self._by_name if name not in current]
        gone.sort(key=lambda name: (-self._nights(name).bit_length(), -len(self._by_name[name]), name))
        self._gone = gone[:PAGES]
        self._listed = frozenset((*current, *self._gone))
        self.without_page = len((self._by_name.keys() | self._tonight) - self._listed)
        """Names that are too many for a page; those of past nights that are not looked at are not among them."""
        self.is_cut = any(item.named.is_cut for item in devices)
        """Whether a device had more names than are looked at."""
        self.cut = {
            plan.id: names
            for number, plan in enumerate(self._plans)
            if (names := frozenset(item.name for item in devices if item.named.cut >> number & 1))
        }
        """By nightly, the devices that had more names on it than are looked at."""

    def pages(self) -> Iterator[tuple[str, NameNights]]:
        """What the page of each name shows that is no cluster with a page, by the name's id, made one by one."""
        return ((name, self._until_last(name)) for name in self._gone)

    def found(self) -> Iterator[Entry]:
        """Every error text that is gone and has a page, for the search; what was seen last comes first."""
        for name in self._gone:
            yield Entry("error", self._text(name), cluster_path(name))

    def lately(self) -> tuple[list[tuple[str, NameNights]], int]:
        """The names that were seen lately and not on the newest nightly, by their ids, and how many more there are."""
        newest = len(self._plans)
        chosen = [name for name in self._gone if newest - LATELY <= self._nights(name).bit_length() < newest]
        return [(name, self._until_last(name)) for name in chosen[:LISTED]], len(chosen[LISTED:])

    def nights(self, name: str) -> NameNights | None:
        """The nights of a name up to the newest; None where none is known."""
        return self._name_nights(name, len(self._plans)) if name in self._by_name else None

    def began(self) -> dict[str, tuple[list[NewError], int]]:
        """By nightly, the errors first seen on it, those of most devices first, and how many more there are."""
        found: dict[str, list[NewError]] = {}
        for name, failures in self._by_name.items():
            start = (self._nights(name) & -self._nights(name)).bit_length() - 1
            devices = sorted(item.name for item, failure in failures if failure.nights >> start & 1)
            if start:  # of the first night nobody knows what is new
                found.setdefault(self._plans[start].id, []).append(self._error(name, devices))
        for errors in found.values():
            errors.sort(key=lambda item: (-len(item.devices), item.text, item.id))
        return {plan: (errors[:NEW_ERRORS], len(errors[NEW_ERRORS:])) for plan, errors in found.items()}

    def main_errors(
        self, broken: Mapping[str, Mapping[str, str]]
    ) -> dict[str, tuple[NewError, Mapping[str, NamedFailure]]]:
        """By nightly, the error with which most of its devices broke, with what it was on each of them.

        Args:
            broken: by nightly, its broken devices, each with the nightly on which its streak began.

        """
        numbers = {plan.id: number for number, plan in enumerate(self._plans)}
        streaks: dict[str, list[tuple[int, int]]] = {}
        for plan_id, devices in broken.items():
            for device, began in devices.items():
                if plan_id in numbers and began in numbers:
                    streaks.setdefault(device, []).append((numbers[plan_id], numbers[began]))
        # By nightly and name, an entry for each device: whether it is older than the streak, its tests, what it was.
        found: dict[int, dict[str, list[tuple[bool, int, str, NamedFailure]]]] = {}
        for name, failures in self._by_name.items():
            for item, failure in failures:
                for number, first in streaks.get(item.name, ()) if failure.where != NOWHERE else ():
                    if failure.nights >> number & failure.nights >> first & 1:
                        is_old = bool(failure.nights << 1 >> first & 1)
                        entry = is_old, failure.tests, item.name, failure
                        found.setdefault(number, {}).setdefault(name, []).append(entry)
        chosen: dict[str, tuple[NewError, Mapping[str, NamedFailure]]] = {}
        for number, names in found.items():
            ranks = [
                (sum(not entry[0] for entry in rows), len(rows), sum(entry[1] for entry in rows), name)
                for name, rows in names.items()
            ]
            name = max(ranks)[-1]
            of = {device: failure for _, _, device, failure in sorted(names[name], key=lambda entry: entry[2])}
            chosen[self._plans[number].id] = self._error(name, of), of
        return chosen

    def _error(self, name: str, devices: Iterable[str]) -> NewError:
        page = f"../../../{cluster_path(name)}" if name in self._listed else None
        return NewError(id=name, text=self._text(name), devices=tuple(devices), page=page)

    def _text(self, name: str) -> str:
        return one_line(self._by_name[name][0][1].signature.text, 200)

    def _nights(self, name: str) -> int:
        """The bits of the nights on which any device had this error, the newest also of one that is not looked at."""
        nights = 1 << len(self._plans) - 1 if name in self._tonight else 0
        for _, failure in self._by_name[name]:
            nights |= failure.nights
        return nights

    def _until_last(self, name: str) -> NameNights:
        return self._name_nights(name, self._nights(name).bit_length())

    def _name_nights(self, name: str, end: int) -> NameNights:
        nights = self._nights(name)
        start = (nights & -nights).bit_length() - 1
        found = sorted(self._by_name[name], key=lambda pair: -pair[1].nights.bit_length())
        # What began lately is shown with the nights before it.
        window = range(max(0, min(start, end - FRONT_NIGHTS)), end)
        last = self._plans[nights.bit_length() - 1]
        grid = night_grid(((plan.id, plan.created_at) for plan in self._plans[window.start : end]), self._builds)
        rows = tuple(self._row(item, failure, range(start, end), grid) for item, failure in found[:DEVICES])
        borders = [(item.name, item.named.borders[name], item.named.is_unbroken(name)) for item, _ in found]
        return NameNights(
            text=self._text(name),
            grid=grid,
            first=self._plans[start],
            is_open=self._has_earlier and start == 0,
            last=last,
            rows=rows,
            devices=len(found),
            began=self._turn([(one, both.began, unbroken) for one, both, unbroken in borders], self._plans[start]),
            ended=self._turn([(one, both.ended, unbroken) for one, both, unbroken in borders], last),
            open_on=sum(both.ended.passed is None for _, both, _ in borders),
            tests=tuple(sorted({test for row in rows for test in row.failure.first})),
            is_tonight=last is self._plans[-1],
            is_cut=any(item.named.cut >> start for item in self._devices if name not in item.named.found),
        )

    def _turn(self, borders: Iterable[tuple[str, Border, bool]], night: Plan) -> Turn | None:
        """The narrowest of the borders on a night, each with its device and whether the failures there are unbroken."""
        found = [item for item in borders if item[1].failed.plan_id == night.id]
        if not found:
            return None
        device, (failed, passed), is_unbroken = min(found, key=_narrowest_first)
        between = None
        if passed is not None and is_unbroken:
            before, after = sorted((failed, passed), key=lambda mark: mark.date)
            count = self._counts.between(before.torch_commit, after.torch_commit)
            between = streak_between(before, after).model_copy(update={"commits_count": count})
        return Turn(device, failed, passed, is_unbroken, between)

    def _row(self, item: DeviceFailures, failure: NamedFailure, since: range, grid: NightGrid) -> NameRow:
        told = sum(item.named.reported >> night & 1 for night in since)
        words = f"failed with this error on {failure.nights.bit_count()} of {many(told, 'night')}"
        last = self._plans[failure.nights.bit_length() - 1]
        page = item.runs.get(last.id)
        return NameRow(
            device=item.name,
            nights=tiled(grid.width, self._cells(item, failure, grid), words),
            last=last,
            href=f"{page}#{failure.where}" if page and failure.where else page,
            failure=failure,
        )

    def _cells(self, item: DeviceFailures, failure: NamedFailure, grid: NightGrid) -> Iterator[Cell]:
        nights = []
        pages = {}
        for number, plan in enumerate(self._plans):
            failed, told = failure.nights >> number & 1, item.named.reported >> number & 1
            nights.append((plan, FAILED if failed else PASSED if told else SILENT))
            if failed and plan.id in item.runs:
                pages[plan.id] = item.runs[plan.id]
        return cells_of(nights, grid, _LOOKS, pages)


def _narrowest_first(item: tuple[str, Border, bool]) -> tuple[bool, bool, float]:
    _, (failed, passed), is_unbroken = item
    return not is_unbroken, passed is None, abs((passed.date - failed.date).total_seconds()) if passed else 0


_LOOKS: Mapping[str, Look] = {
    FAILED: Look("failing", "cross", "failed with this error"),
    PASSED: Look("ok", None, ""),
    SILENT: Look("gap", "gap", ""),
}
