"""What differs from the run before, test by test, as pages show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ootci.model.cluster import Streak
from ootci.model.verdict import Change

from .status import CHANGES, Status

NAMED = 120
"""Tests that are named in all groups together; the others are counted."""
FEW = 20
"""The same on the page of an older run."""


@dataclass(frozen=True)
class ChangeGroup:
    """Tests that differ in the same way."""

    status: Status
    total: int
    shown: tuple[Change, ...]


def change_groups(changes: Iterable[Change], named: int = NAMED) -> tuple[ChangeGroup, ...]:
    """The tests that differ, in the order in which pages show them."""
    changes, groups, left = tuple(changes), [], named
    for name, status in CHANGES.items():
        found = [change for change in changes if change.change is name]
        if found:
            groups.append(ChangeGroup(status, len(found), tuple(found[:left])))
            left -= len(found[:left])
    return tuple(groups)


def streak_of(change: Change, streaks: Sequence[Streak]) -> Streak | None:
    """Since when a test fails; None where the judge does not know."""
    return streaks[change.streak] if change.streak is not None and 0 <= change.streak < len(streaks) else None
