"""Which nightly is tested next, and what the steps come to, whatever the nightlies are like."""

from __future__ import annotations

from datetime import datetime, timezone

from hypothesis import given
from hypothesis import strategies as st

from ootci.history.nightly_search import conclude, next_nightly, steps_left
from ootci.model.bisection import Bisection, Conclusion, Ending, Step, StepResult

GOOD, BAD, UNTESTABLE = StepResult.GOOD, StepResult.BAD, StepResult.UNTESTABLE


def _begun(count: int) -> Bisection:
    nightlies = tuple(f"2.15.0.dev{20260101 + number}+cpu" for number in range(count))
    return Bisection(device="dev", device_sha256="0" * 64, test="smoke/a.py::b", nightlies=nightlies)


def _after(bisection: Bisection, nightly: str, result: StepResult) -> Bisection:
    when = datetime(2026, 11, 21, tzinfo=timezone.utc)
    commit = f"{bisection.nightlies.index(nightly):040x}"
    step = Step(nightly=nightly, git_version=commit, result=result, started_at=when, duration=1.0)
    return bisection.model_copy(update={"steps": (*bisection.steps, step)})


def _searched(truth: list[StepResult]) -> tuple[Bisection, Conclusion]:
    """The search through nightlies of which it is known what each says."""
    bisection = _begun(len(truth))
    while (nightly := next_nightly(bisection)) is not None:
        assert bisection.step_of(nightly) is None, "it was tested already"
        assert conclude(bisection) is None
        left = steps_left(bisection)
        assert left > 0
        bisection = _after(bisection, nightly, truth[bisection.nightlies.index(nightly)])
        assert steps_left(bisection) < left or UNTESTABLE in truth
    found = conclude(bisection)
    assert found is not None
    return bisection, found


@given(st.integers(1, 200).flatmap(lambda bad: st.tuples(st.just(bad), st.integers(bad + 1, 250))))
def test_the_first_bad_nightly_is_found_in_as_few_steps_as_can_be(sizes: tuple[int, int]) -> None:
    first_bad, count = sizes
    bisection, found = _searched([GOOD] * first_bad + [BAD] * (count - first_bad))
    ends = bisection.nightlies[first_bad - 1], bisection.nightlies[first_bad]
    assert found.ending is Ending.FIRST_BAD
    assert (found.last_good and found.last_good.version, found.first_bad and found.first_bad.version) == ends
    assert found.commits is not None
    assert found.commits.endswith(f"/{first_bad - 1:040x}...{first_bad:040x}")
    assert len(bisection.steps) <= 2 + (count - 2).bit_length()


@given(st.data())
def test_what_cannot_be_tested_makes_a_range_and_no_wrong_answer(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 40))
    first_bad = data.draw(st.integers(1, count - 1))
    truth = [GOOD] * first_bad + [BAD] * (count - first_bad)
    gaps = data.draw(st.sets(st.integers(1, count - 2), max_size=count)) if count > 2 else set()
    bisection, found = _searched([UNTESTABLE if index in gaps else result for index, result in enumerate(truth)])
    last_good = max(index for index in range(first_bad) if index not in gaps)
    seen_bad = min(index for index in range(first_bad, count) if index not in gaps)
    assert found.last_good is not None
    assert found.first_bad is not None
    assert bisection.nightlies.index(found.last_good.version) == last_good
    assert bisection.nightlies.index(found.first_bad.version) == seen_bad
    assert found.between == bisection.nightlies[last_good + 1 : seen_bad]
    assert found.ending is (Ending.RANGE if found.between else Ending.FIRST_BAD)


def test_the_ends_are_tested_first_and_nothing_else_when_they_do_not_hold() -> None:
    begun = _begun(5)
    assert next_nightly(begun) == begun.nightlies[0]
    assert next_nightly(_after(begun, begun.nightlies[0], GOOD)) == begun.nightlies[4]
    for results, ending in (
        ([BAD], Ending.GOOD_END_FAILS),
        ([UNTESTABLE], Ending.END_UNTESTABLE),
        ([GOOD, GOOD], Ending.BAD_END_PASSES),
        ([GOOD, UNTESTABLE], Ending.END_UNTESTABLE),
    ):
        bisection = begun
        for result in results:
            bisection = _after(bisection, next_nightly(bisection) or "", result)
        assert next_nightly(bisection) is None
        found = conclude(bisection)
        assert found is not None
        assert (found.ending, found.commits) == (ending, None)


def test_beside_a_middle_that_cannot_be_tested_the_nearest_is_next() -> None:
    bisection = _begun(9)
    order = []
    for result in (GOOD, BAD, UNTESTABLE, UNTESTABLE, UNTESTABLE, GOOD):
        order.append(bisection.nightlies.index(next_nightly(bisection) or ""))
        bisection = _after(bisection, bisection.nightlies[order[-1]], result)
    assert order == [0, 8, 4, 3, 5, 2]
    assert bisection.nightlies.index(next_nightly(bisection) or "") == 6
