"""Which nightly a bisection tests next, and what its steps have come to."""

from __future__ import annotations

from ootci.model.bisection import Bisection, Conclusion, Ending, Step, StepResult
from ootci.model.torch_build import TorchBuild, commits_between


def next_nightly(bisection: Bisection) -> str | None:
    """The nightly to test next: the good end, the bad end, then what halves the rest; None when nothing is left.

    Where the middle cannot be tested, the nearest to it that has not been tested is next.
    """
    nightlies = bisection.nightlies
    for end, wanted in ((nightlies[0], StepResult.GOOD), (nightlies[-1], StepResult.BAD)):
        step = bisection.step_of(end)
        if step is None:
            return end
        if step.result is not wanted:
            return None
    good, bad = _bounds(bisection)
    left = [index for index in range(good + 1, bad) if bisection.step_of(nightlies[index]) is None]
    if not left:
        return None
    return nightlies[min(left, key=lambda index: (abs(2 * index - good - bad), index))]


def steps_left(bisection: Bisection) -> int:
    """How many more steps there are at most while every nightly can be tested."""
    ends = sum(bisection.step_of(end) is None for end in (bisection.nightlies[0], bisection.nightlies[-1]))
    good, bad = _bounds(bisection)
    left = sum(bisection.step_of(bisection.nightlies[index]) is None for index in range(good + 1, bad))
    return ends + left.bit_length()


def conclude(bisection: Bisection) -> Conclusion | None:
    """What the steps have come to; None while there is a nightly to test."""
    if next_nightly(bisection) is not None:
        return None
    nightlies = bisection.nightlies
    first, last = bisection.step_of(nightlies[0]), bisection.step_of(nightlies[-1])
    if first is None or first.result is not StepResult.GOOD:
        bad = first is not None and first.result is StepResult.BAD
        ending = Ending.GOOD_END_FAILS if bad else Ending.END_UNTESTABLE
        return Conclusion(ending=ending, first_bad=_build(first) if bad else None)
    if last is None or last.result is not StepResult.BAD:
        passes = last is not None and last.result is StepResult.GOOD
        ending = Ending.BAD_END_PASSES if passes else Ending.END_UNTESTABLE
        return Conclusion(ending=ending, last_good=_build(last if passes else first))
    good, bad_at = _bounds(bisection)
    between = nightlies[good + 1 : bad_at]
    last_good, first_bad = (_build(bisection.step_of(nightlies[index])) for index in (good, bad_at))
    return Conclusion(
        ending=Ending.RANGE if between else Ending.FIRST_BAD,
        last_good=last_good,
        first_bad=first_bad,
        between=between,
        commits=commits_between(last_good, first_bad),
    )


def _bounds(bisection: Bisection) -> tuple[int, int]:
    """Where the last good and the first bad nightly stand, as far as is known."""
    results = [step.result if (step := bisection.step_of(nightly)) else None for nightly in bisection.nightlies]
    bad = next((index for index, result in enumerate(results) if result is StepResult.BAD), len(results) - 1)
    good = max((index for index, result in enumerate(results[:bad]) if result is StepResult.GOOD), default=0)
    return good, bad


def _build(step: Step | None) -> TorchBuild | None:
    return TorchBuild(version=step.nightly, git_version=step.git_version) if step else None
