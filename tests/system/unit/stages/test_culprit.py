"""The search for the test that makes a later one crash."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ootci.stages.test.culprit import find_culprit

ENOUGH = 40


class Device:
    """One that crashes in the last test once all of some tests have run before it."""

    def __init__(self, guilty: frozenset[str]) -> None:
        self.guilty = guilty
        self.runs: list[tuple[str, ...]] = []

    def __call__(self, tests: Sequence[str]) -> bool:
        self.runs.append(tuple(tests))
        return bool(self.guilty) and self.guilty <= set(tests)


def _names(count: int) -> list[str]:
    return [f"t{number}" for number in range(count)]


@given(st.data(), st.integers(1, 700))
def test_one_guilty_test_is_found_wherever_it_is(data: st.DataObject, count: int) -> None:
    before = _names(count)
    guilty = data.draw(st.sampled_from(before))
    device = Device(frozenset({guilty}))
    assert find_culprit(before, device, ENOUGH) == (guilty,)
    assert (guilty,) in device.runs


@given(st.data(), st.integers(1, 60), st.integers(0, 12))
def test_what_is_named_was_seen_to_bring_the_crash_about_and_the_budget_is_kept(
    data: st.DataObject, count: int, runs: int
) -> None:
    before = _names(count)
    device = Device(frozenset(data.draw(st.sets(st.sampled_from(before), max_size=3))))
    found = find_culprit(before, device, runs)
    assert len(device.runs) <= runs
    if found is not None:
        assert device.guilty <= set(found)
        assert found in device.runs


def test_a_crash_that_nothing_repeats_has_no_culprit() -> None:
    device = Device(frozenset())
    assert find_culprit(_names(100), device, ENOUGH) is None
    assert [len(tests) for tests in device.runs] == [1, 8, 64, 100]
    assert find_culprit([], device, ENOUGH) is None


def test_the_nearest_tests_are_tried_first() -> None:
    device = Device(frozenset({"t999"}))
    assert find_culprit(_names(1000), device, ENOUGH) == ("t999",)
    assert device.runs == [("t999",)]
