"""Since when a test fails, which commits lie in between, and whether other devices fail alike."""

from __future__ import annotations

from dataclasses import dataclass

from ootci.model.spell import Spell

from .links import web_address
from .text import one_line
from .words import day


@dataclass(frozen=True)
class Alike:
    """A cluster as one of its devices sees it.

    Attributes:
        others: other devices that fail so.
        page: the cluster's page, as an address from the top; None where it has none.

    """

    others: int
    page: str | None

    @property
    def words(self) -> str:
        """``only this device``, ``with 3 others``."""
        return "only this device" if not self.others else f"with {self.others} other{'s' * (self.others > 1)}"


@dataclass(frozen=True)
class SpellView:
    """An unbroken row of failures.

    Attributes:
        words: ``since 2026-11-21, last passed 2026-11-20``.
        commits: PyTorch's commits in between.
        commits_href: the page that lists them.

    """

    words: str
    commits: str | None
    commits_href: str | None


def spell_view(spell: Spell) -> SpellView:
    """A row of failures as it is shown."""
    passed = f"last passed {day(spell.last_passed.date)}" if spell.last_passed else "not known to have passed before"
    return SpellView(
        words=f"since {day(spell.first_failed.date)}, {passed}",
        commits=one_line(spell.commits, 60) if spell.commits else None,
        commits_href=web_address(spell.commits_url),
    )
