"""The vendor's declarations about tests, compared with the outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timezone

from ootci.model.device import Device, KnownFailure, Unsupported
from ootci.model.outcome import FAILURES, Counts, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import ExpectationReview, ExpectationState, KnownFailureReview, KnownFailureState

from .states import masked, number_with, with_outcomes
from .stored import StoredRun

NAMED = 5
"""Passing tests that a review names; the others are counted."""

_PASSED = (OutcomeName.PASSED, OutcomeName.XPASSED)


def night_of(plan: Plan) -> date:
    """The day by which entries are in effect or expired, in UTC."""
    return plan.created_at.astimezone(timezone.utc).date()


def known_ids(plan: Plan | None, run: StoredRun) -> frozenset[str]:
    """Failing tests that an entry covers which counts on that night and on that torch."""
    return _failing_of(run, _entries(plan, run, expired=False))


def expired_ids(plan: Plan, run: StoredRun) -> frozenset[str]:
    """Failing tests that an expired entry covers: those that no other entry covers are failures again."""
    return _failing_of(run, _entries(plan, run, expired=True))


def _entries(plan: Plan | None, run: StoredRun, *, expired: bool) -> list[KnownFailure]:
    planned = plan.expected(run.head.device) if plan is not None else None
    if plan is None or planned is None:
        return []
    night, torch = night_of(plan), _torch(run.head)
    return [item for item in planned.known_failures if item.expired(night) is expired and item.is_about(torch)]


def _failing_of(run: StoredRun, entries: Sequence[KnownFailure]) -> frozenset[str]:
    return frozenset(item.id for entry in entries for item in run.failures if entry.matches(item.id))


def _torch(run: Run) -> str | None:
    return run.torch.version if run.torch is not None else None


def review_known(plan: Plan | None, device: str, run: StoredRun | None) -> tuple[KnownFailureReview, ...]:
    """Every entry of the night's list: whether it still has a reason to be there."""
    planned = plan.expected(device) if plan is not None else None
    if plan is None or planned is None or not planned.known_failures:
        return ()
    return tuple(_review(entry, night_of(plan), run) for entry in planned.known_failures)


def _matching(entry: KnownFailure, run: StoredRun) -> list[tuple[str, OutcomeName]]:
    """The tests of a run that an entry names, by id."""
    return [
        (test_id, outcome)
        for test_id, row in run.tests.with_prefix(entry.prefix)
        if (outcome := run.outcome(row)) is not None and entry.matches(test_id)
    ]


def _review(entry: KnownFailure, night: date, run: StoredRun | None) -> KnownFailureReview:
    about = run is not None and entry.is_about(_torch(run.head))
    found = _matching(entry, run) if run is not None and about else []
    failing = sum(outcome in FAILURES or outcome is OutcomeName.UNSUPPORTED for _, outcome in found)
    passing = [test_id for test_id, outcome in found if outcome in _PASSED]
    if entry.expired(night):
        state = KnownFailureState.EXPIRED
    elif run is not None and not about:
        state = KnownFailureState.OTHER_TORCH
    elif passing:
        state = KnownFailureState.PASSES
    elif failing:
        state = KnownFailureState.COVERS
    elif not found and run is not None and entry.suite in run.head.complete_suites:
        state = KnownFailureState.UNMATCHED
    else:
        state = KnownFailureState.UNSEEN
    return KnownFailureReview(
        entry=entry, state=state, failing=failing, passing=len(passing), passes=tuple(passing[:NAMED])
    )


def review_unsupported(plan: Plan | None, device: str, run: StoredRun | None) -> tuple[ExpectationReview, ...]:
    """Every capability that the device was declared not to have: whether that is true."""
    planned = plan.expected(device) if plan is not None else None
    if planned is None or not planned.unsupported:
        return ()
    found = {item.capability: item.counts for item in run.capabilities} if run is not None else {}
    return tuple(_review_claim(claim, found.get(claim.capability.value, Counts())) for claim in planned.unsupported)


def _review_claim(claim: Unsupported, found: Counts) -> ExpectationReview:
    passing = sum(getattr(found, name.value) for name in _PASSED)
    others = sum(getattr(found, name.value) for name in (OutcomeName.UNSUPPORTED, OutcomeName.XFAILED, *FAILURES))
    if passing:
        state = ExpectationState.PARTLY if others else ExpectationState.WORKS
    else:
        state = ExpectationState.HOLDS if others else ExpectationState.UNSEEN
    return ExpectationReview(
        declared=claim.capability.value, reason=claim.reason, state=state, passing=passing, seen=passing + others
    )


def review_declarations(device: Device, runs: Sequence[StoredRun]) -> tuple[ExpectationReview, ...]:
    """Declarations about PyTorch's tests whose tests passed when last tried.

    Args:
        device: the device, with what its file declares now.
        runs: its runs, oldest first.

    """
    tried = (run.head.passing_declarations for run in reversed(runs))
    return tuple(
        ExpectationReview(
            declared=found.declaration, state=ExpectationState.WORKS, passing=found.tests, seen=found.tests
        )
        for found in next((found for found in tried if found is not None), ())
        if any(suite.still_declares(found.declaration) for suite in device.suites)
    )


def outdated(reviews: Sequence[KnownFailureReview], claims: Sequence[ExpectationReview]) -> str:
    """The part of a verdict's reason about outdated declarations; empty when there are none."""
    old = sum(item.state in (KnownFailureState.PASSES, KnownFailureState.UNMATCHED) for item in reviews)
    text = f"; {old} of {len(reviews)} entries of known_failures out of date" if old else ""
    works = [
        f"{item.declared}{' (in part)' if item.state is ExpectationState.PARTLY else ''}"
        for item in claims
        if item.state in (ExpectationState.WORKS, ExpectationState.PARTLY)
    ]
    more = f" and {len(works) - NAMED} more" if len(works) > NAMED else ""
    return text + (f"; declared unsupported, but works: {', '.join(works[:NAMED])}{more}" if works else "")


def accepted_losses(plan: Plan, run: StoredRun, rows: int) -> int:
    """Those of some tests, by row, whose loss the device file of the night accepts: in words, or with a capability."""
    planned, night, claimed = plan.expected(run.head.device), night_of(plan), _claimed(plan, run)
    entries = [entry for entry in planned.lost_tests if entry.is_valid(night)] if planned is not None else []
    accepted = [row for name in claimed for row in run.tests.by_capability.get(name, ())]
    for entry in entries:
        accepted += [row for test_id, row in run.tests.with_prefix(entry.prefix) if entry.matches(test_id)]
    return rows & number_with(accepted)


def refused(plan: Plan, run: StoredRun, suite: str) -> list[str]:
    """Ids of the tests of a suite that are unsupported, without an entry in the device file."""
    claimed, entries = _claimed(plan, run), _entries(plan, run, expired=False)
    states = masked(run.states, run.tests.mask(frozenset((suite,))))
    found = [run.tests[row] for row in with_outcomes(states, (OutcomeName.UNSUPPORTED,))]
    return [
        test.id
        for test in found
        if test.capability not in claimed and not any(entry.matches(test.id) for entry in entries)
    ]


def _claimed(plan: Plan, run: StoredRun) -> frozenset[str]:
    """The capabilities that the device file declares as unsupported."""
    planned = plan.expected(run.head.device)
    return frozenset(claim.capability.value for claim in planned.unsupported) if planned is not None else frozenset()
