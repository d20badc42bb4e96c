"""A device's past nights: a strip to look at, and the same in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ootci.model.verdict import DeviceVerdict, Night, Verdicts

from .status import VERDICTS, Status
from .words import day, many

FRONT_NIGHTS = 14
CELL_WIDTH = 11
"""Width of a night in the strip, the gap to the next one included."""


@dataclass(frozen=True)
class Cell:
    """One night of a strip."""

    x: int
    glyph: str
    tone: str


@dataclass(frozen=True)
class Strip:
    """The last nights of one device, in columns that are the same for every device."""

    width: int
    cells: tuple[Cell, ...]
    words: str


@dataclass(frozen=True)
class NightRow:
    """One night in the list of a device's page."""

    plan_id: str
    date: str
    short_date: str
    status: Status
    href: str | None


def last_nightlies(verdicts: Verdicts) -> tuple[str, ...]:
    """Ids of the newest nightlies that concerned any device, oldest first."""
    nights = {night.plan_id: night.date for device in verdicts.devices for night in device.history}
    return tuple(sorted(nights, key=lambda plan_id: (nights[plan_id], plan_id))[-FRONT_NIGHTS:])


def strip(device: DeviceVerdict, nightlies: Sequence[str]) -> Strip:
    """The strip of a device over the given nightlies; a nightly that did not concern it leaves a gap."""
    by_id = {night.plan_id: night for night in device.history}
    columns = [*[None] * (FRONT_NIGHTS - len(nightlies)), *nightlies]
    cells = []
    for index, plan_id in enumerate(columns):
        night = by_id.get(plan_id) if plan_id is not None else None
        status = VERDICTS[night.verdict] if night else Status("no nightly", "off", "gap")
        cells.append(Cell(index * CELL_WIDTH, status.glyph, status.tone))
    known = [by_id[plan_id] for plan_id in nightlies if plan_id in by_id]
    return Strip(FRONT_NIGHTS * CELL_WIDTH, tuple(cells), in_words(known))


def in_words(nights: Sequence[Night]) -> str:
    """The nights as text: ``12 nights OK from 2026-11-07, then 2 nights REGRESSED from 2026-11-19``."""
    if not nights:
        return "no nights yet"
    parts = []
    for verdict, group in groupby(nights, key=lambda night: night.verdict):
        row = list(group)
        parts.append(f"{many(len(row), 'night')} {VERDICTS[verdict].word} from {day(row[0].date)}")
    return ", then ".join(parts)


def night_rows(device: DeviceVerdict, pages: Mapping[str, str]) -> tuple[NightRow, ...]:
    """Every night of a device, newest first; ``pages`` has the address of each nightly's page, where there is one."""
    return tuple(
        NightRow(
            night.plan_id, day(night.date), f"{night.date:%d %b}", VERDICTS[night.verdict], pages.get(night.plan_id)
        )
        for night in reversed(device.history)
    )
