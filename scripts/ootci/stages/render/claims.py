"""What has come of what a vendor said beforehand of a run's tests, in words."""

from __future__ import annotations

from ootci.model.verdict import ClaimReview, ClaimState, KnownFailureReview, KnownFailureState

from .text import one_line
from .words import many


def known_note(review: KnownFailureReview) -> str:
    """What an entry of the list of known failures has come to, in words."""
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


def claim_note(review: ClaimReview) -> str:
    """What a capability that is declared unsupported has come to, in words."""
    tests = f"{review.passing} of {many(review.seen, 'test')} passed"
    return {
        ClaimState.WORKS: f"declared unsupported, but works: remove the claim ({tests})",
        ClaimState.PARTLY: f"declared unsupported, but works in part ({tests})",
        ClaimState.HOLDS: tests,
    }.get(review.state, "none of its tests ran")
