"""Nights that say nothing about a device, because what was around it was broken."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from typing import Annotated

from pydantic import Field, model_validator

from ootci.model.record import Record

from .values import Text, Url

LONGEST_RANGE = timedelta(days=92)
"""A device whose infrastructure is broken for longer is better paused."""


class BadRange(Record):
    """Nights that say nothing because the infrastructure was broken. Their verdicts stay what they were."""

    first: date
    """The first of the nights, such as 2026-11-03 (UTC)."""
    last: date
    """The last of them, at most 92 days later; the same day for one night."""
    reason: Text
    """What was broken, one sentence."""
    link: Url
    """Where one can read about it."""

    @model_validator(mode="after")
    def _forwards(self) -> BadRange:
        if self.last < self.first:
            raise ValueError(f"it ends on {self.last}, before it begins on {self.first}")
        if self.last - self.first > LONGEST_RANGE:
            raise ValueError(
                f"it is longer than {LONGEST_RANGE.days} days; a device that cannot be run for so long is `paused`"
            )
        return self

    def covers(self, planned: datetime) -> bool:
        """Whether a night that was planned at that aware time is one of them."""
        return self.first <= planned.astimezone(timezone.utc).date() <= self.last


BadRanges = Annotated[tuple[BadRange, ...], Field(max_length=100)]


def bad_range(ranges: Iterable[BadRange], planned: datetime) -> BadRange | None:
    """The first range that covers a night; None when the night says something."""
    return next((found for found in ranges if found.covers(planned)), None)
