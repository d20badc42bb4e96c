"""Which tests of a device are flaky: one definition, for the judge and for the page.

A test is flaky when it failed and passed again in the nights that are looked at, with enough of them to tell:

- a *turn* is a failure after which it passed: on the same night, on retry with nothing changed, or on the
  next night on which it ran;
- one turn within a night is enough, because nothing changed in between. Between nights PyTorch and the plugin change,
  so that one turn may be a defect and its repair: there it takes ``TURNS``, and with them both directions;
- it must have passed or failed on at least ``SAMPLE`` nights. Nights on which it was skipped, did not run or was not
  there do not count, and neither does an excluded night, see :func:`tells`;
- it does not fail on so many nights in a row that chance does not explain it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ootci.model.device import BadRange, bad_range
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, OutcomeName
from ootci.model.plan import Plan

from .stored import StoredRun

TURNS = 2
"""A test with so many turns between nights is flaky."""
IMPROBABLE = 0.001
"""A flaky test that fails on so many nights in a row that chance would do so less often is broken."""
LATELY = 30
"""The newest nights that are looked at."""
SAMPLE = 10
"""On fewer nights than this nobody can tell."""


@dataclass(frozen=True)
class Turns:
    """How often a test failed and then passed, over some nights.

    Attributes:
        again: nights on which it failed and passed on retry.
        failed: nights on which it failed at first.
        sample: nights on which it passed or failed.

    """

    turns: int
    again: int
    failed: int
    sample: int


@dataclass(frozen=True)
class FlakyTest(Turns):
    """A flaky test, and the newest nightly on which it failed."""

    id: str
    plan_id: str


def tells(ranges: Iterable[BadRange], plan: Plan, run: StoredRun) -> bool:
    """Whether a night counts for the record of flaky tests.

    A night on which another torch replaced the requested one is excluded, and so is one within the ``bad_ranges``.
    """
    return run.head.channel is not None and bad_range(ranges, plan.created_at) is None


def flaky_tests(nights: Sequence[StoredRun]) -> tuple[FlakyTest, ...]:
    """The flaky tests of a device, by its runs that count and tell something, oldest first; most turns for the nights
    first.

    The newest ``LATELY`` nights of the newest one's channel are looked at.
    """
    nights = [run for run in nights if run.head.channel is nights[-1].head.channel][-LATELY:]
    rows = {row for run in nights for row in run.with_outcomes(FAILURES)}
    ids = {test_id for run in nights[-1:] for test_id in run.ids(rows)}
    found = []
    for test_id in ids:
        results = [run.result(test_id) for run in nights]
        if turns := flaky(results):
            last = max(number for number, (outcome, _) in enumerate(results) if outcome in FAILURES)
            found.append(FlakyTest(**vars(turns), id=test_id, plan_id=nights[last].head.plan_id))
    return tuple(sorted(found, key=lambda test: (-test.turns / test.sample, -test.failed, test.id)))


def flaky(results: Iterable[tuple[OutcomeName | None, bool]]) -> Turns | None:
    """The turns of a test that is flaky; None where it is not.

    The results are, of each night, oldest first, the first outcome, and whether it passed on retry.
    """
    turns = again = failed = sample = row = 0
    for outcome, passed_again in results:
        if outcome in FAILURES:
            failed, sample = failed + 1, sample + 1
            turns, again, row = turns + passed_again, again + passed_again, 0 if passed_again else row + 1
        elif outcome in AS_THEY_SHOULD:
            turns, sample, row = turns + (row > 0), sample + 1, 0
    if sample < SAMPLE or not (again or turns >= TURNS):
        return None
    # The nights before the row give the probability of a failure (Laplace's rule of succession).
    probable = (failed - row + 1) / (sample - row + 2)
    return Turns(turns, again, failed, sample) if probable**row >= IMPROBABLE else None
