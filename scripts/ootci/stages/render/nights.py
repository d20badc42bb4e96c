"""Devices' past nights: a grid to look at, and the same in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from ootci.history.ever_failed import FAILED, PASSES
from ootci.model.device import BadRange, bad_range
from ootci.model.plan import Plan
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import AS_EXPECTED, BROKEN, Before, DeviceVerdict, Night, VerdictName, Verdicts
from ootci.model.words import many

from .links import nightly_path
from .status import VERDICTS
from .text import one_line
from .words import day, moment, short_day

FRONT_NIGHTS = 42
REASONS = 6
"""The most reasons in a text of nights; all of them are listed below it."""
CELL_WIDTH = 11
"""Width of a night in pixels, the gap to the next one included."""
WEEK_GAP = 4
"""What a new week adds to that gap."""
LABEL_WIDTH = 46
"""Labels are at least so many pixels apart."""
LEAST_WIDTH = 64
"""Pixels of a grid of few nights: the label `torch 2.15` has room."""
MANY = 3
"""From this many devices that break on one night, the night is marked."""


@dataclass(frozen=True)
class Cell:
    """One night of one device.

    Attributes:
        x: where it begins.
        look: the CSS class that colours it.
        glyph: a symbol of the page's sprite, without its prefix; None for a plain cell.
        hatched: whether it is excluded: within one of the device's ``bad_ranges``, or on a torch that replaced the
            nightly.
        href: the page that shows it, from the top; None where there is none.

    """

    x: int
    look: str
    glyph: str | None
    hatched: bool
    href: str | None
    words: str


class Tiles(NamedTuple):
    """Nights side by side that look the same, drawn as one rectangle."""

    x: int
    width: int
    look: str


@dataclass(frozen=True)
class NightsOf:
    """The nights of one device, in the columns of a grid, and the same in words; ``tiles`` lead nowhere."""

    width: int
    cells: tuple[Cell, ...]
    words: str
    tiles: tuple[Tiles, ...] = ()


def tiled(width: int, cells: Iterable[Cell], words: str) -> NightsOf:
    """A row of a page with hundreds: side by side, nights without a link are drawn as one rectangle."""
    linked: list[Cell] = []
    tiles: list[Tiles] = []
    for cell in cells:
        last = tiles[-1] if tiles else None
        if cell.href:
            linked.append(cell)
        elif last and (last.look, last.x + last.width) == (cell.look, cell.x):
            tiles[-1] = last._replace(width=last.width + CELL_WIDTH)
        else:
            tiles.append(Tiles(cell.x, CELL_WIDTH, cell.look))
    return NightsOf(width, tuple(linked), words, tuple(tiles))


class Look(NamedTuple):
    """How an outcome is shown in a grid: the CSS class, the glyph, and the words; no words for what needs none."""

    look: str
    glyph: str | None
    words: str


BEGAN = Look("new", "down", "began to fail")
"""A failure after nights on which there was none."""


def cells_of(
    nights: Iterable[tuple[Plan, str]],
    grid: NightGrid,
    looks: Mapping[str, Look],
    pages: Mapping[str, str],
) -> Iterator[Cell]:
    """The nights of a test or an error in a grid's columns; the first failure of a row is shown as new.

    Args:
        nights: nightlies, oldest first, each with the letter of its outcome (:mod:`ootci.history.ever_failed`); those
            without a column only tell whether it failed before.
        looks: how each letter is shown.
        pages: the page of each nightly that has one, from the top.

    """
    failing = True  # of the first night nobody knows what is new
    for plan, letter in nights:
        if plan.id in grid.columns:
            look = BEGAN if letter == FAILED and not failing else looks[letter]
            words = f"{plan.created_at:%a} {short_day(plan.created_at)}: {look.words}" if look.words else ""
            yield Cell(grid.columns[plan.id], look.look, look.glyph, False, pages.get(plan.id), words)
        failing = letter == FAILED or (failing and letter not in PASSES)


@dataclass(frozen=True)
class Label:
    """A few words above a column, which may lead to a page."""

    x: int
    text: str
    words: str = ""
    href: str | None = None


@dataclass(frozen=True)
class NightGrid:
    """Columns of nights that are the same for every device, oldest first.

    Attributes:
        columns: where each nightly's column begins, by id.
        width: of all columns, at least :data:`LEAST_WIDTH`.
        weeks: the first night of each week.
        torches: where the version of PyTorch changed.
        marks: nights on which many devices broke at once.
        builds: the build of PyTorch of each nightly, as text.
        withdrawn: the words for each nightly that was withdrawn; its column is hatched.
        nights: each nightly with its words and its page, for grids whose plain cells lead nowhere themselves.

    """

    columns: Mapping[str, int]
    width: int
    weeks: tuple[Label, ...] = ()
    torches: tuple[Label, ...] = ()
    marks: tuple[Label, ...] = ()
    builds: Mapping[str, str] = field(default_factory=dict)
    withdrawn: Mapping[str, str] = field(default_factory=dict)
    nights: tuple[Label, ...] = ()

    def row(self, device: DeviceVerdict, pages: Mapping[str, str], ranges: Sequence[BadRange] = ()) -> NightsOf:
        """The nights of a device; ``pages`` are from the top, by nightly.

        A nightly that did not concern it leaves a gap; nights within its ``bad_ranges`` keep their verdict and are
        hatched. A device without a past has empty columns.
        """
        if not device.history:
            return NightsOf(self.width, (), "never ran" if device.verdict is VerdictName.NEVER_RAN else in_words(()))
        by_id = {night.plan_id: night for night in device.history}
        known = [by_id[plan_id] for plan_id in self.columns if plan_id in by_id]
        cells = tuple(
            self._cell(x, by_id[plan_id], pages.get(plan_id), ranges)
            if plan_id in by_id
            else self._gap(x, self.withdrawn.get(plan_id), pages.get(plan_id))
            for plan_id, x in self.columns.items()
        )
        return NightsOf(self.width, cells, in_words(known, ranges))

    def linked(self, pages: Mapping[str, str]) -> dict[str, str]:
        """The page of each night, from the top: the one that is given, else its nightly's."""
        return {plan_id: pages.get(plan_id) or nightly_path(plan_id) for plan_id in self.columns}

    def _gap(self, x: int, withdrawn: str | None, href: str | None) -> Cell:
        return Cell(x, "gap", "gap", withdrawn is not None, href if withdrawn else None, withdrawn or "")

    def _cell(self, x: int, night: Night, href: str | None, ranges: Sequence[BadRange]) -> Cell:
        status = VERDICTS[night.verdict]
        words = [f"{night.date:%a} {short_day(night.date)}: {status.word}"]
        words += [self.builds[night.plan_id]] if night.plan_id in self.builds else []
        words += ["not counted: another PyTorch replaced the nightly"] if night.fallback else []
        words += [before_words(night.before)] if night.before is not None else []
        bad = bad_range(ranges, night.date)
        words += [f"not counted: {one_line(bad.reason, 120)}"] if bad is not None else []
        return Cell(x, status.look, status.mark, bad is not None or night.fallback, href, " · ".join(words))


def night_grid(nights: Iterable[tuple[str, datetime]], builds: Mapping[str, TorchBuild] | None = None) -> NightGrid:
    """The columns of a grid, for the ids and dates of nightlies, oldest first, and the builds that are known."""
    x = 0
    places: dict[str, int] = {}
    weeks: list[Label] = []
    torches: list[Label] = []
    labels: list[Label] = []
    week: tuple[int, int] | None = None
    for plan_id, date in nights:
        this = date.isocalendar()[:2]
        if this != week:
            x += WEEK_GAP if week is not None else 0
            weeks.append(Label(x, f"{date.day} {date:%b}"))
        week = this
        places[plan_id] = x
        build = (builds or {}).get(plan_id)
        version = ".".join(build.version.split(".")[:2]) if build else None
        if version and (not torches or torches[-1].text != version):
            torches.append(Label(x, version))
        words = f"{date:%a} {short_day(date)}" + (f" · {_build_text(build)}" if build else "")
        labels.append(Label(x, "", words, nightly_path(plan_id)))
        x += CELL_WIDTH
    texts = {plan_id: _build_text(build) for plan_id, build in (builds or {}).items() if plan_id in places}
    width = max(x, LEAST_WIDTH)
    shown = _that_fit(weeks, width), _that_fit(torches, width)
    return NightGrid(places, width, *shown, builds=texts, nights=tuple(labels))


def _that_fit(labels: Iterable[Label], width: int) -> tuple[Label, ...]:
    """The labels that do not run over the one before or the end of the grid."""
    shown: list[Label] = []
    for label in labels:
        follows = not shown or label.x - shown[-1].x >= LABEL_WIDTH
        if follows and label.x + LABEL_WIDTH <= width + CELL_WIDTH:
            shown.append(label)
    return tuple(shown)


def broken_streaks(history: Iterable[Night]) -> Iterator[tuple[Night, Night]]:
    """Each broken night of a device, oldest first, with the first night of the streak that it is in.

    A night without a result does not end a streak. One on a torch that replaced the nightly is in none.
    """
    first: Night | None = None
    for night in history:
        if night.fallback:
            continue
        if night.verdict in BROKEN:
            first = first or night
            yield night, first
        elif night.verdict in AS_EXPECTED:
            first = None


def with_marks(grid: NightGrid, devices: Iterable[DeviceVerdict]) -> NightGrid:
    """A grid with marks above the nights on which at least :data:`MANY` devices broke."""
    broke: Counter[str] = Counter()
    for device in devices:
        broke.update(first.plan_id for night, first in broken_streaks(device.history) if night is first)
    marks: list[Label] = []
    for plan_id, x in grid.columns.items():
        if broke[plan_id] >= MANY:
            # The number is left of the mark, where there is room for it.
            text = str(broke[plan_id]) if not marks or x - marks[-1].x > 2 * CELL_WIDTH else ""
            marks.append(Label(x, text, f"{broke[plan_id]} devices broke on this night", nightly_path(plan_id)))
    return replace(grid, marks=tuple(marks))


@dataclass(frozen=True)
class Bar:
    """A part of a night's column in a chart: how many devices share a state, from ``y`` downwards."""

    x: int
    y: int
    height: int
    look: str


def stacked(grid: NightGrid, devices: Sequence[DeviceVerdict]) -> tuple[Bar, ...]:
    """The verdicts of each night as a column of the grid, worst on top; a device is a unit of its height."""
    looks = tuple(dict.fromkeys(status.look for status in VERDICTS.values()))
    found: dict[str, Counter[str]] = {plan_id: Counter() for plan_id in grid.columns}
    for device in devices:
        for night in device.history:
            if night.plan_id in found:
                found[night.plan_id][VERDICTS[night.verdict].look] += 1
    bars: list[Bar] = []
    for plan_id, counts in found.items():
        y = len(devices) - counts.total()
        for look in looks:
            if counts[look]:
                bars.append(Bar(grid.columns[plan_id], y, counts[look], look))
                y += counts[look]
    return tuple(bars)


def _build_text(build: TorchBuild) -> str:
    commit = f" ({build.git_version[:7]})" if build.git_version else ""
    return f"torch {one_line(build.version, 60)}{commit}"


def before_words(before: Before) -> str:
    """What a night was before a late report, in words."""
    word = VERDICTS[before.verdict].word
    return f"{word} until {moment(before.until)}, when its report arrived late ({one_line(before.reason, 200)})"


def last_nightlies(verdicts: Verdicts, count: int = FRONT_NIGHTS) -> tuple[tuple[str, datetime], ...]:
    """Ids and dates of the newest nightlies that concerned any device, oldest first."""
    nights = {night.plan_id: night.date for device in verdicts.devices for night in device.history}
    return tuple(sorted(nights.items(), key=lambda night: (night[1], night[0]))[-count:])


def in_words(nights: Sequence[Night], ranges: Sequence[BadRange] = ()) -> str:
    """The nights as text: ``12 nights OK from 2026-11-07, then 2 nights REGRESSED from 2026-11-19``.

    Nights within one of the ``bad_ranges`` have the reason for their exclusion, up to a number of reasons.
    """
    if not nights:
        return "no nights yet"
    parts: list[str] = []
    reasons = 0
    for (verdict, bad), group in groupby(nights, key=lambda night: (night.verdict, bad_range(ranges, night.date))):
        row = list(group)
        text = f"{many(len(row), 'night')} {VERDICTS[verdict].word} from {day(row[0].date)}"
        if bad is not None:
            why = f": {one_line(bad.reason, 120)}" if reasons < REASONS else ""
            text, reasons = f"{text} (not counted{why})", reasons + 1
        parts.append(text)
    return ", then ".join(parts)
