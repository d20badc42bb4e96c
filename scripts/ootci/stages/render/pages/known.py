"""Declarations of all vendors: known failures and unsupported capabilities."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from ootci.model.device import KnownFailure
from ootci.model.words import many

from ..page_maker import PageMaker
from ..publish import File
from ..status import rank

LISTED = 200
"""Entries on the page, and as many claims; the others are counted."""


def known_page(maker: PageMaker, place: Callable[[KnownFailure], str | None]) -> File:
    """The page; ``place`` has where the nights of an entry's tests are shown, as an address from the top."""
    found = {item.device: item for item in maker.verdicts.devices}
    judged = [found[item.device.name] for item in maker.registry if item.device.name in found]
    # First what needs a change, then what expires first.
    known = [(verdict.device, review) for verdict in judged for review in verdict.known_failures]
    known.sort(key=lambda item: (rank(item[1].state), item[1].entry.expires))
    claims = [(verdict.device, claim) for verdict in judged for claim in verdict.unsupported]
    claims.sort(key=lambda item: rank(item[1].state))
    return maker.show(
        "known/index.html",
        "known.html",
        known=known,
        claims=claims,
        listed=LISTED,
        maintainers={item.device.name: item.device.maintainers for item in maker.registry},
        place=place,
        today=maker.verdicts.judged_at.date(),
        left=left,
    )


def left(expires: date, today: date) -> str:
    """How long an entry still counts."""
    days = (expires - today).days
    if days < 0:
        return f"expired {many(-days, 'day')} ago"
    return f"{many(days, 'day')} left" if days else "last day"
