"""Nights that say nothing, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ootci.model.device import BadRange

from .links import web_address
from .room import Room
from .text import one_line
from .words import many

RANGES = 8_000
"""Bytes for them on one page."""


@dataclass(frozen=True)
class BadRangeView:
    """Nights that say nothing, and why."""

    days: str
    reason: str
    href: str | None


def bad_ranges(ranges: Iterable[BadRange | None]) -> tuple[BadRangeView, ...]:
    """Each range once, in the order in which they come, as many as have room; the last entry says how many have not."""
    found, room = tuple(dict.fromkeys(filter(None, ranges))), Room(RANGES)
    shown: list[BadRangeView] = []
    for item in found:
        days = f"{item.first}" if item.first == item.last else f"{item.first} to {item.last}"
        view = BadRangeView(days, one_line(item.reason), web_address(item.link))
        if not room.takes(view.reason, view.href):
            shown.append(BadRangeView(many(len(found) - len(shown), "more range"), "not named here", None))
            break
        shown.append(view)
    return tuple(shown)
