"""Sums of counts: every outcome stands in each sum that it belongs to, once."""

from __future__ import annotations

import pytest
from unit.samples import outcomes

from ootci.model.outcome import FAILURES, NOT_EXECUTED, Counts, OutcomeName


@pytest.mark.parametrize("name", OutcomeName)
def test_an_outcome_is_in_the_sums_it_belongs_to(name: OutcomeName) -> None:
    counts = Counts(**{name.value: 3})
    assert counts.total == 3
    assert counts.executed == (0 if name in NOT_EXECUTED else 3)
    assert counts.failures == (3 if name in FAILURES else 0)
    assert (counts.pass_rate.passed, counts.pass_rate.executed) == (3 * (name is OutcomeName.PASSED), counts.executed)


def test_tests_that_passed_when_run_again_are_counted_once() -> None:
    assert Counts(failed=2, flaky=1).total == 2


def test_outcomes_are_counted_and_a_rate_has_its_two_numbers() -> None:
    found = Counts.of(outcomes("smoke", **{name.value: name.value for name in OutcomeName}, two="passed"))
    assert found == Counts(**{name.value: 1 + (name is OutcomeName.PASSED) for name in OutcomeName})
    assert str(found.pass_rate) == f"2 of {found.executed}"
