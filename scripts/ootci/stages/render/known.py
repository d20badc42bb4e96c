"""What vendors said beforehand, of all devices at once: known failures and unsupported capabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from ootci.model.device import KnownFailure, RegisteredDevice
from ootci.model.verdict import KnownFailureReview, Verdicts

from .claims import ClaimRow, KnownRow, claim_row, known_row
from .front import verdict_of_each
from .links import github_handle
from .status import CLAIMS, KNOWN
from .text import one_line
from .words import many

LISTED = 200
"""Entries on the page, and as many claims; the others are counted."""


@dataclass(frozen=True)
class Owner:
    """A device, and who answers for what is said of it: handles, each with its address."""

    name: str
    display_name: str
    maintainers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class KnownFailureRow:
    """An entry with its owner; ``left`` says how long it still counts, ``nights`` is the page of its tests' nights."""

    owner: Owner
    entry: KnownRow
    added: date
    expires: date
    left: str
    nights: str | None


@dataclass(frozen=True)
class UnsupportedRow:
    """A claim with its owner."""

    owner: Owner
    claim: ClaimRow


@dataclass(frozen=True)
class KnownPage:
    """Everything that the page shows; totals count what is not named, too."""

    known: tuple[KnownFailureRow, ...]
    known_total: int
    unsupported: tuple[UnsupportedRow, ...]
    unsupported_total: int

    @property
    def more(self) -> int:
        """Entries that are not named."""
        return self.known_total - len(self.known)

    @property
    def more_unsupported(self) -> int:
        """Claims that are not named."""
        return self.unsupported_total - len(self.unsupported)


def known_page(
    registry: Sequence[RegisteredDevice], verdicts: Verdicts, place: Callable[[KnownFailure], str | None]
) -> KnownPage:
    """Every entry and every claim: first what asks for a change, then what expires first.

    Args:
        registry: every registered device, in registry order.
        verdicts: what the judge found.
        place: where the nights of an entry's tests are shown, as an address from the top.

    """
    today = verdicts.judged_at.date()
    judged = verdict_of_each(registry, verdicts)
    owned = [(_owner(item), judged[item.device.name]) for item in registry]
    reviews = [(owner, review) for owner, verdict in owned for review in verdict.known_failures]
    states = list(KNOWN)
    reviews.sort(key=lambda item: (states.index(item[1].state), item[1].entry.expires))
    claims = [(owner, claim) for owner, verdict in owned for claim in verdict.unsupported]
    worth = list(CLAIMS)
    claims.sort(key=lambda item: worth.index(item[1].state))
    return KnownPage(
        known=tuple(_row(owner, review, place, today) for owner, review in reviews[:LISTED]),
        known_total=len(reviews),
        unsupported=tuple(UnsupportedRow(owner, claim_row(claim)) for owner, claim in claims[:LISTED]),
        unsupported_total=len(claims),
    )


def _row(
    owner: Owner, review: KnownFailureReview, place: Callable[[KnownFailure], str | None], today: date
) -> KnownFailureRow:
    entry = review.entry
    left = _left(entry.expires, today)
    return KnownFailureRow(owner, known_row(review), entry.added, entry.expires, left, place(entry))


def _owner(item: RegisteredDevice) -> Owner:
    device = item.device
    handles = tuple((one_line(handle, 60), github_handle(handle)) for handle in device.maintainers)
    return Owner(device.name, one_line(device.display_name, 60), handles)


def _left(expires: date, today: date) -> str:
    days = (expires - today).days
    if days < 0:
        return f"over for {many(-days, 'day')}"
    return f"{many(days, 'day')} left" if days else "last day"
