"""Sums of counts: every outcome stands in each sum that it belongs to, once."""

from __future__ import annotations

import pytest

from ootci.model.outcome import FAILURES, NOT_EXECUTED, Counts, OutcomeName


@pytest.mark.parametrize("name", OutcomeName)
def test_an_outcome_is_in_the_sums_it_belongs_to(name: OutcomeName) -> None:
    counts = Counts(**{name.value: 3})
    assert counts.total == 3
    assert counts.executed == (0 if name in NOT_EXECUTED else 3)
    assert counts.failures == (3 if name in FAILURES else 0)
    assert counts.pass_rate.passed == (3 if name is OutcomeName.PASSED else 0)


def test_tests_that_passed_when_run_again_are_counted_once() -> None:
    assert Counts(failed=2, flaky=1).total == 2
