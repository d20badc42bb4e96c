"""What the vendor said beforehand of the tests, held against what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timezone

from ootci.model.device import KnownFailure, Unsupported
from ootci.model.outcome import NOT_EXECUTED, Counts, Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run
from ootci.model.verdict import ClaimReview, ClaimState, KnownFailureReview, KnownFailureState

NAMED = 5
"""Passing tests that a review names; the others are counted."""

_PASSED = (OutcomeName.PASSED, OutcomeName.XPASSED)


def night_of(plan: Plan) -> date:
    """The day by which entries are in effect or expired, in UTC."""
    return plan.created_at.astimezone(timezone.utc).date()


def known_ids(plan: Plan | None, run: Run | None) -> frozenset[str]:
    """Failing tests that an entry covers which counts on that night and on that torch."""
    return _failing_of(run, _entries(plan, run, expired=False))


def expired_ids(plan: Plan, run: Run | None) -> frozenset[str]:
    """Failing tests that only an expired entry covers, so that they are failures again."""
    return _failing_of(run, _entries(plan, run, expired=True)) - known_ids(plan, run)


def _entries(plan: Plan | None, run: Run | None, *, expired: bool) -> list[KnownFailure]:
    planned = plan.expected(run.device) if plan is not None and run is not None else None
    if plan is None or planned is None:
        return []
    return [
        entry
        for entry in planned.known_failures
        if entry.expired(night_of(plan)) is expired and entry.is_about(_torch(run))
    ]


def _failing_of(run: Run | None, entries: Sequence[KnownFailure]) -> frozenset[str]:
    failing = [item.id for item in run.outcomes if item.is_failure] if run is not None else []
    return frozenset(test_id for test_id in failing if any(entry.matches(test_id) for entry in entries))


def _torch(run: Run | None) -> str | None:
    return run.torch.version if run is not None and run.torch is not None else None


def review_known(plan: Plan | None, device: str, run: Run | None) -> tuple[KnownFailureReview, ...]:
    """Every entry of the night's list: whether it still has a reason to be there."""
    planned = plan.expected(device) if plan is not None else None
    if plan is None or planned is None:
        return ()
    return tuple(_review(entry, night_of(plan), run) for entry in planned.known_failures)


def _review(entry: KnownFailure, night: date, run: Run | None) -> KnownFailureReview:
    about = run is not None and entry.is_about(_torch(run))
    found = [item for item in run.outcomes if entry.matches(item.id)] if run is not None and about else []
    failing = sum(item.is_failure for item in found)
    passing = [item.id for item in found if item.outcome in _PASSED]
    if entry.expired(night):
        state = KnownFailureState.EXPIRED
    elif run is not None and not about:
        state = KnownFailureState.OTHER_TORCH
    elif passing:
        state = KnownFailureState.PASSES
    elif failing:
        state = KnownFailureState.COVERS
    elif not found and run is not None and _whole(run, entry.suite):
        state = KnownFailureState.UNMATCHED
    else:
        state = KnownFailureState.UNSEEN
    return KnownFailureReview(
        entry=entry, state=state, failing=failing, passing=len(passing), passes=tuple(passing[:NAMED])
    )


def _whole(run: Run, suite: str) -> bool:
    return any(report.suite == suite and report.state is ReportState.COMPLETE for report in run.suites)


def review_unsupported(plan: Plan | None, device: str, run: Run | None) -> tuple[ClaimReview, ...]:
    """Every capability that the device was declared not to have: whether that is true."""
    planned = plan.expected(device) if plan is not None else None
    return tuple(_review_claim(claim, run) for claim in (planned.unsupported if planned is not None else ()))


def _review_claim(claim: Unsupported, run: Run | None) -> ClaimReview:
    found = Counts.of(_tests_of(claim, run))
    passing = found.passed + found.xpassed
    others = found.unsupported + found.failures + found.xfailed
    if passing:
        state = ClaimState.PARTLY if others else ClaimState.WORKS
    else:
        state = ClaimState.HOLDS if others else ClaimState.UNSEEN
    return ClaimReview(
        capability=claim.capability, reason=claim.reason, state=state, passing=passing, seen=passing + others
    )


def _tests_of(claim: Unsupported, run: Run | None) -> list[Outcome]:
    return [item for item in run.outcomes if item.capability == claim.capability.value] if run is not None else []


def outdated(reviews: Sequence[KnownFailureReview], claims: Sequence[ClaimReview]) -> str:
    """What a verdict's reason says of claims that are true no more; empty when there are none."""
    old = sum(item.state in (KnownFailureState.PASSES, KnownFailureState.UNMATCHED) for item in reviews)
    text = f"; {old} of {len(reviews)} entries of known_failures out of date" if old else ""
    works = [
        f"{item.capability.value}{' (in part)' if item.state is ClaimState.PARTLY else ''}"
        for item in claims
        if item.state in (ClaimState.WORKS, ClaimState.PARTLY)
    ]
    return text + (f"; declared unsupported, but works: {', '.join(works)}" if works else "")


def disclaimed(plan: Plan, before: Run | None, run: Run, suite: str) -> int:
    """Tests of a suite that were executed in the run before and are now declared unsupported, so not lost."""
    planned = plan.expected(run.device)
    claimed = {claim.capability.value for claim in planned.unsupported} if planned is not None else set()
    had = {item.id for item in before.outcomes if item.outcome not in NOT_EXECUTED} if before is not None else set()
    return sum(
        item.suite == suite
        and item.outcome is OutcomeName.UNSUPPORTED
        and item.capability in claimed
        and item.id in had
        for item in run.outcomes
    )
