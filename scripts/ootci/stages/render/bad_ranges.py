"""Nights that say nothing, with the reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ootci.model.device import BadRange

from .links import web_address
from .text import one_line
from .words import many

SHOWN = 20
"""Ranges on one page; the others are counted."""


@dataclass(frozen=True)
class BadRangeView:
    """Nights that say nothing, and why."""

    days: str
    reason: str
    href: str | None


def bad_ranges(ranges: Iterable[BadRange | None]) -> tuple[BadRangeView, ...]:
    """Each range once, in the order in which they come; the last entry says how many more there are."""
    found = tuple(dict.fromkeys(filter(None, ranges)))
    shown = [BadRangeView(_days(item), one_line(item.reason), web_address(item.link)) for item in found[:SHOWN]]
    if len(found) > SHOWN:
        shown.append(BadRangeView(many(len(found) - SHOWN, "more range"), "not named here", None))
    return tuple(shown)


def _days(item: BadRange) -> str:
    return f"{item.first}" if item.first == item.last else f"{item.first} to {item.last}"
