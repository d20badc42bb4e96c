"""What a vendor said beforehand of a run's tests, and what it has come to, as the run's page shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ootci.model.verdict import ClaimReview, ClaimState, KnownFailureReview, KnownFailureState

from .links import web_address
from .status import CLAIMS, KNOWN, Status
from .text import one_line
from .words import many

NAMED = 30
"""Known failures that a run's page names; the others are counted. Capabilities are few."""


@dataclass(frozen=True)
class KnownRow:
    """One entry of the list of known failures."""

    id: str
    status: Status
    reason: str
    issue: str
    href: str | None
    terms: str
    note: str


@dataclass(frozen=True)
class ClaimRow:
    """One capability that is declared unsupported."""

    capability: str
    status: Status
    reason: str
    note: str


@dataclass(frozen=True)
class ClaimsView:
    """Everything that the vendor said beforehand."""

    known: tuple[KnownRow, ...]
    known_total: int
    unsupported: tuple[ClaimRow, ...]

    @property
    def more(self) -> int:
        """Entries that are not named."""
        return self.known_total - len(self.known)


def claims_view(known: Sequence[KnownFailureReview], unsupported: Sequence[ClaimReview]) -> ClaimsView:
    """Entries and claims, those first that ask for a change."""
    known_order, claim_order = list(KNOWN), list(CLAIMS)
    reviews = sorted(known, key=lambda review: known_order.index(review.state))
    claims = sorted(unsupported, key=lambda review: claim_order.index(review.state))
    return ClaimsView(tuple(map(known_row, reviews[:NAMED])), len(known), tuple(map(claim_row, claims)))


def known_row(review: KnownFailureReview) -> KnownRow:
    """One entry of the list, in words."""
    entry = review.entry
    terms = f"added {entry.added}, expires {entry.expires}" + (f", torch {entry.torch}" if entry.torch else "")
    return KnownRow(
        id=one_line(entry.id),
        status=KNOWN[review.state],
        reason=one_line(entry.reason),
        issue=one_line(entry.issue),
        href=web_address(entry.issue),
        terms=one_line(terms),
        note=_known_note(review),
    )


def _known_note(review: KnownFailureReview) -> str:
    failing = many(review.failing, "failing test")
    if review.state is KnownFailureState.EXPIRED:
        return (
            f"names {failing}, which count as failures again" if review.failing else "names no failing test; remove it"
        )
    if review.state is KnownFailureState.PASSES:
        first = one_line(review.passes[0], 200) if review.passes else "unknown"
        also = f" and {failing}" if review.failing else ""
        remedy = "let it name fewer tests" if review.failing else "remove it"
        return f"names {many(review.passing, 'passing test')}, first {first}{also}: {remedy}"
    return {
        KnownFailureState.COVERS: f"names {failing}",
        KnownFailureState.UNMATCHED: "names no test that there is: remove it, or correct its id",
        KnownFailureState.OTHER_TORCH: "does not count on this torch",
    }.get(review.state, "none of its tests ran")


def claim_row(review: ClaimReview) -> ClaimRow:
    """One claim, in words."""
    tests = f"{review.passing} of {many(review.seen, 'test')} passed"
    note = {
        ClaimState.WORKS: f"declared unsupported, but works: remove the claim ({tests})",
        ClaimState.PARTLY: f"declared unsupported, but works in part ({tests})",
        ClaimState.HOLDS: tests,
    }.get(review.state, "none of its tests ran")
    return ClaimRow(review.capability.value, CLAIMS[review.state], one_line(review.reason), note)
