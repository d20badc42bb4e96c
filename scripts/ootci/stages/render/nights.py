"""A device's past nights: a strip to look at, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ootci.model.device import BadRange, bad_range
from ootci.model.verdict import DeviceVerdict, Night, Verdicts

from .status import VERDICTS, Status
from .text import one_line
from .words import day, many

FRONT_NIGHTS = 14
REASONS = 6
"""So many reasons stand in a text of nights; all of them are listed below it."""
CELL_WIDTH = 11
"""Width of a night in the strip, the gap to the next one included."""

_GOOD = "h6a1.5 1.5 0 0 1 1.5 1.5v7a1.5 1.5 0 0 1-1.5 1.5h-6a1.5 1.5 0 0 1-1.5-1.5v-7a1.5 1.5 0 0 1 1.5-1.5z"
"""The shape of a good night, as the symbol ``c-check`` has it, from where its upper edge begins."""


@dataclass(frozen=True)
class Cell:
    """One night of a strip; a hatched one says nothing."""

    x: int
    glyph: str
    tone: str
    hatched: bool


@dataclass(frozen=True)
class Strip:
    """The last nights of one device, in columns that are the same for every device.

    Most nights are good ones. They are one shape, ``good``, because a browser needs longer for a symbol in each column.
    """

    width: int
    good: str
    cells: tuple[Cell, ...]
    words: str


@dataclass(frozen=True)
class NightRow:
    """One night in the list of a device's page; a hatched one says nothing."""

    plan_id: str
    date: str
    short_date: str
    status: Status
    href: str | None
    hatched: bool


def last_nightlies(verdicts: Verdicts) -> tuple[str, ...]:
    """Ids of the newest nightlies that concerned any device, oldest first."""
    nights = {night.plan_id: night.date for device in verdicts.devices for night in device.history}
    return tuple(sorted(nights, key=lambda plan_id: (nights[plan_id], plan_id))[-FRONT_NIGHTS:])


def strip(
    device: DeviceVerdict, nightlies: Sequence[str], ranges: Sequence[BadRange] = (), columns: int = FRONT_NIGHTS
) -> Strip:
    """The strip of a device over the given nightlies; a nightly that did not concern it leaves a gap.

    Args:
        device: what the judge found of it.
        nightlies: their ids, oldest first.
        ranges: its ``bad_ranges``; nights within them keep their verdict and are hatched.
        columns: room for so many nights; the newest is on the right.

    """
    by_id = {night.plan_id: night for night in device.history}
    places = [*[None] * (columns - len(nightlies)), *nightlies]
    cells = []
    for index, plan_id in enumerate(places):
        night = by_id.get(plan_id) if plan_id is not None else None
        status = VERDICTS[night.verdict] if night else Status("no nightly", "off", "gap")
        hatched = night is not None and bad_range(ranges, night.date) is not None
        cells.append(Cell(index * CELL_WIDTH, status.glyph, status.tone, hatched))
    known = [by_id[plan_id] for plan_id in nightlies if plan_id in by_id]
    return Strip(
        width=columns * CELL_WIDTH,
        good="".join(f"M{cell.x + 1.5:g} 6{_GOOD}" for cell in cells if cell.glyph == "check"),
        cells=tuple(cells),
        words=in_words(known, ranges),
    )


def in_words(nights: Sequence[Night], ranges: Sequence[BadRange] = ()) -> str:
    """The nights as text: ``12 nights OK from 2026-11-07, then 2 nights REGRESSED from 2026-11-19``.

    Of nights within one of the ``bad_ranges``, it says why they say nothing, as long as that is not said too often.
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
            text, reasons = f"{text} (says nothing{why})", reasons + 1
        parts.append(text)
    return ", then ".join(parts)


def night_rows(
    device: DeviceVerdict, pages: Mapping[str, str], ranges: Sequence[BadRange] = ()
) -> tuple[NightRow, ...]:
    """Every night of a device, newest first; ``pages`` has the address of each nightly's page, where there is one."""
    return tuple(
        NightRow(
            plan_id=night.plan_id,
            date=day(night.date),
            short_date=f"{night.date:%d %b}",
            status=VERDICTS[night.verdict],
            href=pages.get(night.plan_id),
            hatched=bad_range(ranges, night.date) is not None,
        )
        for night in reversed(device.history)
    )
