"""Which tests of a device fail and pass by turns.

A test is flaky when it failed and passed again in the nights that are looked at, with enough of them to tell:

- a *turn* is a failure after which it passed: on the same night, when it was run again with nothing changed, or on the
  next night on which it ran;
- one turn within a night is enough, because nothing changed in between. Between nights PyTorch and the plugin change,
  so that one turn may be a defect and its repair: there it takes ``TURNS``, and with them both directions;
- it must have passed or failed on at least ``SAMPLE`` nights. Nights on which it was skipped, did not run or was not
  there say nothing, and neither does any night within the device's ``bad_ranges``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ootci.model.device import Device, bad_range
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, OutcomeName
from ootci.model.plan import Plan

from .states import failing_rows
from .stored import StoredRun

TURNS = 2
"""A test with so many turns of late is flaky: when it fails anew, that is no regression."""
IMPROBABLE = 0.001
"""A flaky test that fails on so many nights in a row that chance would do so less often is broken."""
LATELY = 30
"""The newest nights that are looked at."""
SAMPLE = 10
"""On fewer nights than this nobody can tell."""


@dataclass(frozen=True)
class FlakyTest:
    """A test that fails and passes by turns.

    Attributes:
        id: the test.
        turns: how often it failed and then passed.
        again: nights on which it failed and passed when it was run again.
        failed: nights on which it failed at first.
        sample: nights on which it passed or failed.
        plan_id: the newest nightly on which it failed.

    """

    id: str
    turns: int
    again: int
    failed: int
    sample: int
    plan_id: str


def nights_that_tell(device: Device, plans: Iterable[Plan]) -> tuple[str, ...]:
    """Ids of the newest ``LATELY`` nightlies that concerned a device and are within none of its ``bad_ranges``.

    Args:
        device: the device.
        plans: every nightly, oldest first.

    """
    told = [
        plan.id
        for plan in plans
        if plan.expected(device.name) is not None and bad_range(device.bad_ranges, plan.created_at) is None
    ]
    return tuple(told[-LATELY:])


def flaky_tests(nights: Sequence[StoredRun]) -> tuple[FlakyTest, ...]:
    """The flaky tests of a device, those with the most turns for their nights first.

    Args:
        nights: the run that counts of each night, oldest first.

    """
    rows = {row for run in nights for row in failing_rows(run.states)}
    ids = {test_id for run in nights[-1:] for test_id in run.ids(rows)}
    found = [test for test_id in ids if (test := _counted(nights, test_id)) is not None]
    return tuple(sorted(found, key=lambda test: (-test.turns / test.sample, -test.failed, test.id)))


@dataclass(frozen=True)
class Turns:
    """What came of a test over some nights.

    Attributes:
        turns: how often it failed and then passed.
        again: nights on which it failed and passed when it was run again.
        failed: nights on which it failed at first.
        sample: nights on which it passed or failed.

    """

    turns: int
    again: int
    failed: int
    sample: int


def count_turns(results: Iterable[tuple[OutcomeName | None, bool]]) -> Turns:
    """Count a test's turns.

    Args:
        results: of each night, oldest first, the first outcome, and whether it passed when it was run again.

    """
    turns = again = failed = sample = 0
    failing = False
    for outcome, passed_again in results:
        if outcome in FAILURES:
            failed, sample = failed + 1, sample + 1
            turns, again, failing = turns + passed_again, again + passed_again, not passed_again
        elif outcome in AS_THEY_SHOULD:
            turns, sample, failing = turns + failing, sample + 1, False
    return Turns(turns, again, failed, sample)


def fails_by_chance(results: Sequence[tuple[OutcomeName | None, bool]]) -> bool:
    """Whether a test that fails tonight, also when it was run again, is flaky by its record.

    It is asked on every night of the row of failures: it is flaky as long as so long a row is not improbable.

    Args:
        results: of each night before, oldest first, the first outcome, and whether it passed when it was run again.

    """
    told = [(outcome in FAILURES, again) for outcome, again in results if outcome in FAILURES | AS_THEY_SHOULD]
    row = 1
    while told and told[-1] == (True, False):
        told.pop()
        row += 1
    found = count_turns(results)
    if found.turns < TURNS and not (found.again and found.sample >= SAMPLE):
        return False
    failed = sum(is_failure for is_failure, _ in told)
    return ((failed + 1) / (len(told) + 2)) ** row >= IMPROBABLE


def _counted(nights: Sequence[StoredRun], test_id: str) -> FlakyTest | None:
    results = [run.result(test_id) for run in nights]
    found = count_turns(results)
    if found.sample < SAMPLE or (not found.again and found.turns < TURNS):
        return None
    last = max(number for number, (outcome, _) in enumerate(results) if outcome in FAILURES)
    return FlakyTest(test_id, found.turns, found.again, found.failed, found.sample, nights[last].head.plan_id)
