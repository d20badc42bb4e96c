"""What differs from the run before, test by test, as pages show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ootci.history.stored import StoredRun
from ootci.model.outcome import FAILURES
from ootci.model.spell import Spell
from ootci.model.verdict import Change, ChangeName

from .room import ITEM_OVERHEAD, NAMES, Room
from .spells import Alike, SpellView, spell_view
from .status import CHANGES, OUTCOMES, Status
from .text import one_line


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
    whole: Room,
) -> Against:
    """What differs from the run before; a test that goes on failing stands among the failures already."""
    news = tuple(change for change in changes if change.change is not ChangeName.STILL_FAILING)
    groups = change_groups(news, place, whole) if comparable else ()
    return Against(one_line(before.head.plan_id, 60), page, comparable, groups)


def change_groups(
    changes: Sequence[Change],
    place: Callable[[str], str | None],
    whole: Room,
    spells: Sequence[Spell] = (),
    alike: Mapping[str, Alike] = MappingProxyType({}),
) -> tuple[ChangeGroup, ...]:
    """The tests that differ, in the order in which pages show them, as many as have room.

    Args:
        changes: the tests.
        place: where the nights of a test are shown, from the top.
        whole: the room of the page.
        spells: since when those of them fail that say so.
        alike: what fails alike, by the signature's id.

    """
    room, groups = whole.part(NAMES), []
    for name, status in CHANGES.items():
        found = [change for change in changes if change.change is name]
        shown = []
        for change in found:
            row = _row(change, place, spells, alike)
            if not _fits(room, row):
                break
            shown.append(row)
        if found:
            groups.append(ChangeGroup(status, len(found), tuple(shown)))
    return tuple(groups)


def _fits(room: Room, row: ChangeRow) -> bool:
    page = row.alike.page if row.alike else None
    if row.spell is None:
        return room.takes(row.id, page, row.nights)
    # Two links and a line of its own.
    return room.takes(
        *(row.id, page, row.nights, row.spell.words, row.spell.commits, row.spell.commits_href),
        overhead=3 * ITEM_OVERHEAD,
    )


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
