"""A run as its page shows it: stages, counts, failures with their text, and what did not count."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ootci.history.expectations import known_ids, review_known, review_unsupported
from ootci.history.stored import StoredRun
from ootci.model.device import RegisteredDevice
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import Change, ExpectationReview, KnownFailureReview

from .failures import FailureRow, failures
from .pages.findings import Finding, findings
from .status import rank


@dataclass(frozen=True)
class RunView:
    """What the page of a run shows besides its record.

    Attributes:
        run: the run, without tests that are not counted against the device.
        is_whole: whether the tests that neither passed nor failed are shown, too.
        is_recent: whether every failure is shown at length, or of an older run only new ones.
        reported: whether any test did.
        failures_known: tests that the vendor knew to fail.
        unsettled: failing tests that are not counted against the device.
        failures: rows of the first failing tests.
        other_failures: the failing tests without a row.

    """

    run: Run
    is_whole: bool
    is_recent: bool
    reported: bool
    findings: tuple[Finding, ...]
    failures_total: int
    failures_known: int
    unsettled: int
    failures: tuple[FailureRow, ...]
    other_failures: Sequence[Outcome]
    known_failures: Sequence[KnownFailureReview]
    unsupported: Sequence[ExpectationReview]

    @property
    def lists(self) -> list[tuple[OutcomeName, list[Outcome]]]:
        """The tests that neither passed nor failed, by outcome."""
        found = [(name, [item for item in self.run.outcomes if item.outcome is name]) for name in _LISTED]
        return [(name, tests) for name, tests in found if tests]


def run_view(
    item: RegisteredDevice,
    run: Run,
    stored: StoredRun,
    plan: Plan | None,
    changes: Sequence[Change] = (),
    unsettled: Collection[str] = (),
    *,
    is_whole: bool = True,
    is_recent: bool = True,
    claims: Sequence[ExpectationReview] | None = None,
) -> RunView:
    """Everything that the page of a run shows.

    Args:
        item: the device and its file.
        run: the run; tests that passed may be left out of it, because none is named, and unless ``is_whole`` all that
            did not fail.
        stored: the same as the history keeps it, with all of them.
        plan: the nightly that it belongs to, with the vendor's declarations.
        changes: how its tests differ from the run before, as the judge found; without them no failure is called new.
        unsettled: failing tests that are not counted against the device: they are counted and not listed.
        claims: what is declared unsupported, where more is known of it than the plan and this run tell.

    """
    if unsettled:
        kept = tuple(item for item in run.outcomes if item.id not in unsettled)
        run = run.model_copy(update={"outcomes": kept})
    known = known_ids(plan, stored)
    entries = sorted(review_known(plan, run.device, stored), key=lambda item: rank(item.state))
    claims = sorted(
        review_unsupported(plan, run.device, stored) if claims is None else claims, key=lambda item: rank(item.state)
    )
    expected = known | {claim.declared for claim in claims}
    others, rows = failures(item, run, {change.id: change.change for change in changes}, known, is_recent=is_recent)
    return RunView(
        run=run,
        is_whole=is_whole,
        is_recent=is_recent,
        reported=any(stored.states),
        findings=findings(run, stored.counts().total, expected) if is_whole else (),
        failures_total=len(others) + sum(1 + row.same_error_total for row in rows),
        failures_known=len(known),
        unsettled=len(unsettled),
        failures=rows,
        other_failures=others,
        known_failures=entries,
        unsupported=claims,
    )


_LISTED = (
    OutcomeName.NOT_RUN,
    OutcomeName.XPASSED,
    OutcomeName.XFAILED,
    OutcomeName.UNSUPPORTED,
    OutcomeName.SKIPPED,
)
