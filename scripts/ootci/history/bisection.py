"""Between which two nightlies a test began to fail, as far as the history knows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from packaging.version import Version

from ootci.errors import NothingToBisect
from ootci.history.nights import DeviceNight, Seen, streak_of
from ootci.history.store import History
from ootci.model.bisection import Bisection, Conclusion, Ending, Step, StepResult
from ootci.model.cluster import Mark
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES
from ootci.model.torch_build import Channel, TorchBuild, commits_between, version_of
from ootci.model.words import did_you_mean

_INSTEAD = "or name both nightlies with --good and --bad"


def ends_of(
    history: History, device: str, test: str, *, good: Version | None = None, bad: Version | None = None
) -> tuple[Mark | None, Mark | None]:
    """The last nightly on which the test passed, and the first after it on which it failed.

    Nights on which it was flaky, was skipped or did not run say neither. Of a nightly that ran more than once, the last
    attempt counts.

    Args:
        good: a nightly that is known to be good; then only the one that failed is looked for, among later ones.
        bad: a nightly that is known to be bad; then only the one that passed is looked for, among earlier ones.

    Returns:
        The two nights; None in the place of one that was not looked for.

    Raises:
        NothingToBisect: it does not fail now, never passed, is in no run, or torch was the same on both nights.
        HistoryCorrupt: a record of the history cannot be read back.

    """
    seen = [
        item
        for version, item in _results(history, device, test)
        if (good is None or version > good) and (bad is None or version < bad)
    ]
    passed = next((item.mark for item in seen if item.outcome in AS_THEY_SHOULD), None)
    if bad is not None and passed is not None:
        return passed, None
    if not seen or bad is not None:
        when = f" on a nightly before {bad}" if bad else f" on a nightly after {good}" if good else " on a nightly"
        raise _nothing(
            history,
            f"no run of `{device}`{when} {'passed' if bad else 'has an outcome of'} `{test}`",
            _near(history, device, test),
        )
    streak = streak_of(seen)
    if streak is None:
        said = f"`{test}` passes in the newest run that has it, {run_id(seen[0].mark, device)}"
        raise _nothing(history, said)
    if good is not None:
        return None, streak.first_failed
    if streak.last_passed is None:
        first = run_id(streak.first_failed, device)
        raise _nothing(history, f"`{test}` has never passed on a nightly; the first run in which it failed is {first}")
    _require_other_torch(history, streak.last_passed, streak.first_failed, test)
    return streak.last_passed, streak.first_failed


def run_id(mark: Mark, device: str) -> str:
    """The id of a device's run on a night."""
    return f"{mark.plan_id}-{device}"


def _results(history: History, device: str, test: str) -> Iterator[tuple[Version, Seen]]:
    """The clear results of the last attempts, newest nightly first, each with its torch."""
    for last, *_ in history.attempts_by_nightly(device):
        outcome, is_flaky = last.result(test)
        clear = outcome in FAILURES or outcome in AS_THEY_SHOULD
        if is_flaky or not clear or last.head.channel is not Channel.NIGHTLY or last.head.torch is None:
            continue
        version = version_of(last.head.torch.version)
        if version is not None:
            yield version, Seen(DeviceNight(history.plan(last.head.plan_id), last).mark, outcome)


def _near(history: History, device: str, test: str) -> str:
    """Tests of the newest run that had any whose ids are much like it."""
    tested = next((run for run in history.newest_stored(device) if run.rows()), None)
    ids = list(tested.ids(tested.rows())) if tested is not None else []
    return "" if test in ids else did_you_mean(test, ids, 3)


def _require_other_torch(history: History, passed: Mark, failed: Mark, test: str) -> None:
    if (passed.torch_version, passed.torch_commit) != (failed.torch_version, failed.torch_commit):
        return
    commits = passed.plugin_commit, failed.plugin_commit
    changed = f"; the plugin went from {commits[0]} to {commits[1]}" if commits[0] != commits[1] else ""
    raise _nothing(history, f"`{test}` passed and then failed on the same torch {passed.torch_version}{changed}")


def _nothing(history: History, what: str, hint: str = "") -> NothingToBisect:
    return NothingToBisect(what, where=str(history.folder), fix=f"{hint}look at `ootci diff`, {_INSTEAD}")


def commit_to_hold(mark: Mark) -> str | None:
    """The plugin's commit on a night, where it was a clean one."""
    commit = mark.plugin_commit
    return commit if commit and re.fullmatch("[0-9a-f]{40}", commit) else None


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
    """The result of the steps; None while there is a nightly to test."""
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
    """The last good and the first bad nightly, as far as they are known."""
    results = [step.result if (step := bisection.step_of(nightly)) else None for nightly in bisection.nightlies]
    bad = next((index for index, result in enumerate(results) if result is StepResult.BAD), len(results) - 1)
    good = max((index for index, result in enumerate(results[:bad]) if result is StepResult.GOOD), default=0)
    return good, bad


def _build(step: Step | None) -> TorchBuild | None:
    return TorchBuild(version=step.nightly, git_version=step.git_version, made_of=step.made_of) if step else None
