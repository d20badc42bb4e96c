"""Later attempts: only what newly fails is run again, and no attempt hides another."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.stages.smoke_run import Played, clock, fake_python, smoke_run

from ootci.adapters.progress import Progress
from ootci.model import event
from ootci.stages.test import again
from ootci.stages.test.again import LaterAttempts, find_culprit
from ootci.stages.test.supervisor import Supervisor, supervise


@dataclass(frozen=True)
class PlayedAgain(Played):
    """A suite with later attempts."""

    flaky: frozenset[str]

    @property
    def later(self) -> dict[str, list[event.TestEnd]]:
        found: dict[str, list[event.TestEnd]] = {}
        for item in event.read_events(self.folder / "events.jsonl"):
            if isinstance(item, event.TestEnd) and item.attempt > 1:
                found.setdefault(item.id, []).append(item)
        return found


Play = Callable[..., PlayedAgain]


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Play a suite, and then what the processes of the later attempts do."""
    python = fake_python(tmp_path)

    def call(
        *scripts: list[str],
        before: frozenset[str] = frozenset(),
        not_retried: frozenset[str] = frozenset(),
        seconds: float = 60,
    ) -> PlayedAgain:
        variables = {**os.environ, "FAKE_SCRIPT": json.dumps(scripts)}
        limits = {"suite_seconds": 60, "test_seconds": 20, "spares": 0}
        run = smoke_run(tmp_path, python=python, variables=variables, **limits)
        progress = Progress(quiet=True)
        one = Supervisor(run, clock=clock)
        first = supervise([one], progress)
        two = LaterAttempts(
            run,
            is_expected=before.__contains__,
            not_retried=not_retried.__contains__,
            deadline=time.monotonic() + seconds,
            clock=clock,
            progress=progress,
            say=one.say,
        )
        return PlayedAgain(tmp_path, first, two.make(first))

    return call


def _tests(names: str, **outcomes: str) -> list[str]:
    """A process that runs tests, all of which pass unless told otherwise."""
    steps = [f"collect {names}"]
    for name in names.split():
        steps += [f"start {name}", f"end {name}={outcomes.get(name, 'passed')}"]
    return [*steps, "finish 1"]


def _second(name: str, outcome: str) -> list[str]:
    return [f"collect {name}", f"start {name}", f"end {name}={outcome}", "finish 1"]


def test_a_test_that_fails_and_then_passes_is_flaky_and_stays_failed(play: Play) -> None:
    played = play(_tests("a b", b="failed"), _second("b", "passed"))
    assert played.flaky == {"b"}
    assert played.end.ended["b"].value == "failed"
    assert [end.outcome.value for end in played.later["b"]] == ["passed"]
    assert "--attempt 2" in played.starts[1]
    assert played.asked(1) == ["b"]


def test_a_test_that_fails_three_times_is_no_flake(play: Play) -> None:
    played = play(_tests("a b", b="failed"), _second("b", "error"), _second("b", "failed"))
    assert played.flaky == frozenset()
    assert [end.outcome.value for end in played.later["b"]] == ["error", "failed"]
    assert "--attempt 3" in played.starts[2]


def test_a_test_that_passes_at_the_third_attempt_is_flaky(play: Play) -> None:
    played = play(_tests("a b c", b="failed", c="failed"), [*_tests("b c", c="failed")], _second("c", "passed"))
    assert played.flaky == {"b", "c"}
    assert played.asked(2) == ["c"]
    assert [end.outcome.value for end in played.later["c"]] == ["failed", "passed"]


def test_a_test_that_dies_is_run_again_only_once(play: Play) -> None:
    """What hangs or crashes takes time, and may leave the device in a state that fails others."""
    played = play(["collect a", "start a", "crash"], ["collect a", "start a", "crash"])
    assert played.flaky == frozenset()
    assert [end.outcome.value for end in played.later["a"]] == ["crashed"]


def test_what_failed_before_is_not_run_again(play: Play) -> None:
    played = play(_tests("a b", b="failed"), before=frozenset({"b"}))
    assert (played.flaky, played.later, len(played.starts)) == (frozenset(), {}, 1)


def test_fifty_new_failures_are_no_flakes_and_none_is_run_again(play: Play) -> None:
    names = [f"t{number}" for number in range(50)]
    played = play(_tests(" ".join(names), **dict.fromkeys(names, "failed")))
    assert (played.flaky, played.later, len(played.starts)) == (frozenset(), {}, 1)
    assert "50 tests fail that did not fail before, too many to retry any" in played.log


@pytest.mark.parametrize(("outcome", "retried"), [("failed", True), ("timed_out", False)])
def test_of_a_large_suite_more_are_run_again_unless_each_takes_long(play: Play, outcome: str, retried: bool) -> None:
    names = [f"t{number}" for number in range(again.MAX_AGAIN + 5)]
    many = [f"u{number}" for number in range(again.ONE_IN * len(names) - len(names))]
    script = [f"collect {' '.join([*names, *many])}"]
    script += [step for name in names for step in (f"start {name}", f"end {name}={outcome}")]
    script += [*(f"end {name}=passed" for name in many), "finish 1"]
    played = play(script, _tests(" ".join(names)))
    assert played.flaky == (frozenset(names) if retried else frozenset())


def test_old_failures_do_not_count_towards_the_limit(play: Play) -> None:
    names = [f"t{number}" for number in range(50)]
    script = _tests(" ".join([*names, "new"]), **dict.fromkeys(names, "failed"), new="failed")
    assert play(script, _second("new", "passed"), before=frozenset(names)).flaky == {"new"}


def test_what_could_not_be_run_again_on_the_night_before_is_run_again_on_the_next(play: Play) -> None:
    before = frozenset({"old", "many"})
    script = _tests("old many new", old="failed", many="failed", new="failed")
    second = _tests("many new", new="failed")
    played = play(script, second, _second("new", "failed"), before=before, not_retried=frozenset({"many"}))
    assert played.flaky == {"many"}
    assert sorted(played.asked(1)) == ["many", "new"]


def test_too_many_that_were_not_run_again_before_keep_no_new_failure_from_its_retry(play: Play) -> None:
    names = frozenset(f"t{number}" for number in range(again.MAX_AGAIN))
    script = _tests(" ".join([*sorted(names), "new"]), **dict.fromkeys(names, "failed"), new="failed")
    played = play(script, _second("new", "passed"), before=names, not_retried=names)
    assert (played.flaky, played.asked(1)) == ({"new"}, ["new"])
    assert f"{len(names)} test(s) fail still that were not retried before, too many to retry now" in played.log


def test_a_test_that_crashed_is_run_again_alone(play: Play) -> None:
    played = play(
        ["collect a b c", "start a", "end a=failed", "start b", "crash"],
        ["start c", "end c=passed", "finish 1"],
        _second("a", "passed"),
        _second("b", "passed"),
        *[["collect a b", "start a", "end a=passed", "start b", "end b=passed", "finish 0"]],
    )
    assert played.asked(2) == ["a"]
    assert played.asked(3) == ["b"]
    assert played.flaky == {"a", "b"}
    assert "b crashed, passes alone, and did not crash again after tests that had run before it" in played.log


def test_a_crash_that_a_test_before_it_leaves_behind_is_no_flake(play: Play) -> None:
    played = play(
        ["collect a b c", "start a", "end a=passed", "start b", "crash"],
        ["start c", "end c=passed", "finish 1"],
        _second("b", "passed"),
        ["collect a b", "start a", "end a=passed", "start b", "crash"],
    )
    assert played.flaky == frozenset()
    assert [end.outcome.value for end in played.later["b"]] == ["passed", "crashed"]
    text = "passes alone, and crashes again when a has run before it in the same process"
    assert played.later["b"][1].message == text
    # The search itself is no attempt of the tests in it.
    assert "a" not in played.later
    assert played.end.ended["a"].value == "passed"


def test_a_second_attempt_that_the_suite_s_time_cut_off_is_none(play: Play) -> None:
    played = play(_tests("a", a="failed"), ["collect a", "start a", "hang"], seconds=0.2)
    assert (played.flaky, played.later) == (frozenset(), {})


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
