"""What differs from the run before, test by test, as pages show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ootci.history.stored import StoredRun
from ootci.model.outcome import FAILURES
from ootci.model.spell import Spell
from ootci.model.verdict import Change, ChangeName

from .spells import Alike, SpellView, spell_view
from .status import CHANGES, OUTCOMES, Status
from .text import one_line

NAMED = 120
"""Tests that are named in all groups together; the others are counted."""


@dataclass(frozen=True)
class ChangeRow:
    """One test that differs from the run before; of a failing one, since when it fails, who fails alike, its nights."""

    id: str
    before: str | None
    after: str | None
    spell: SpellView | None
    alike: Alike | None
    nights: str | None


@dataclass(frozen=True)
class ChangeGroup:
    """Tests that differ in the same way."""

    status: Status
    total: int
    shown: tuple[ChangeRow, ...]

    @property
    def more(self) -> int:
        """Tests that are not named."""
        return self.total - len(self.shown)


@dataclass(frozen=True)
class Against:
    """What differs from the run before.

    Attributes:
        plan_id: the nightly of the run before.
        page: its page, as an address from the top; None where there is none.
        comparable: false where no test reported.
        groups: the tests that differ.

    """

    plan_id: str
    page: str | None
    comparable: bool
    groups: tuple[ChangeGroup, ...]


def against(
    before: StoredRun,
    page: str | None,
    changes: Sequence[Change],
    place: Callable[[str], str | None],
    *,
    comparable: bool,
) -> Against:
    """What differs from the run before; a test that goes on failing stands among the failures already."""
    news = tuple(change for change in changes if change.change is not ChangeName.STILL_FAILING)
    groups = change_groups(news, place) if comparable else ()
    return Against(one_line(before.head.plan_id, 60), page, comparable, groups)


def change_groups(
    changes: Sequence[Change],
    place: Callable[[str], str | None],
    spells: Sequence[Spell] = (),
    alike: Mapping[str, Alike] = MappingProxyType({}),
) -> tuple[ChangeGroup, ...]:
    """The tests that differ, in the order in which pages show them.

    Args:
        changes: the tests.
        place: where the nights of a test are shown, from the top.
        spells: since when those of them fail that say so.
        alike: what fails alike, by the signature's id.

    """
    groups, left = [], NAMED
    for name, status in CHANGES.items():
        found = [change for change in changes if change.change is name]
        if found:
            shown = tuple(_row(change, place, spells, alike) for change in found[:left])
            groups.append(ChangeGroup(status, len(found), shown))
            left -= len(shown)
    return tuple(groups)


def _row(
    change: Change, place: Callable[[str], str | None], spells: Sequence[Spell], alike: Mapping[str, Alike]
) -> ChangeRow:
    known = change.spell is not None and 0 <= change.spell < len(spells)
    return ChangeRow(
        id=one_line(change.id),
        before=OUTCOMES[change.before].word if change.before else None,
        after=OUTCOMES[change.after].word if change.after else None,
        spell=spell_view(spells[change.spell or 0]) if known else None,
        alike=alike.get(change.signature) if change.signature else None,
        nights=place(change.id) if change.after in FAILURES else None,
    )
