"""Between which two nightlies a test began to fail, from runs of every kind."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.version import Version
from unit.samples import changed, night, on_torch, plan, retries, run, stored

from ootci.errors import NothingToBisect
from ootci.history.bisection import commit_to_hold, conclude, ends_of, next_nightly, steps_left
from ootci.history.store import History
from ootci.model.bisection import Bisection, Conclusion, Ending, Step, StepResult
from ootci.model.build import PluginBuild
from ootci.model.cluster import Mark
from ootci.model.run import Run
from ootci.model.torch_build import Channel

TEST = "smoke/test_x.py::one"


def _night(number: int, outcome: str | None, *, attempt: int = 1, torch: int | None = None, commit: str = "") -> Run:
    """A run of the nightly of that day, in which the test came to that."""
    tests = {} if outcome is None else {"one": outcome.replace("flaky", "failed")}
    record = changed(
        run(number, smoke=tests, attempt=attempt), attempts=retries("passed") if outcome == "flaky" else ()
    )
    plugin = PluginBuild(package="p", version="1", source="p", commit=commit) if commit else None
    version = f"2.15.0.dev{20261101 + (number if torch is None else torch)}+cpu"
    return on_torch(record, version).model_copy(update={"plugin": plugin})


def _history(folder: Path, *runs: Run) -> History:
    plans = [plan(int(record.plan_id.removeprefix("night"))) for record in runs]
    return stored(folder / "data", *plans, *runs)


def _ends(store: History, good: str | None = None, bad: str | None = None) -> tuple[str | None, str | None]:
    found = ends_of(store, "dev", TEST, good=Version(good) if good else None, bad=Version(bad) if bad else None)
    passed, failed = (record.plan_id if record else None for record in found)
    return passed, failed


@pytest.mark.parametrize(
    ("outcomes", "passed", "failed"),
    [
        (["passed", "passed", "failed", "failed"], 1, 2),
        (["failed", "passed", "crashed"], 1, 2),
        (["xfailed", "timed_out", "error"], 0, 1),
        (["passed", "skipped", "failed", None, "failed"], 0, 2),
        (["passed", "flaky", "failed", "flaky"], 0, 2),
        (["passed", "failed", "not_run", "unsupported", "xpassed"], 0, 1),
    ],
)
def test_the_ends_of_the_newest_break_are_found(
    tmp_path: Path, outcomes: list[str | None], passed: int, failed: int
) -> None:
    store = _history(tmp_path, *(_night(number, outcome) for number, outcome in enumerate(outcomes)))
    assert _ends(store) == (f"night{passed:03d}", f"night{failed:03d}")


def test_the_last_attempt_of_a_nightly_counts(tmp_path: Path) -> None:
    first = [_night(0, "passed"), _night(1, "passed"), _night(1, "failed", attempt=2), _night(2, "failed")]
    assert _ends(_history(tmp_path, *first)) == ("night000", "night001")


def test_runs_on_other_torches_than_nightlies_are_passed_over(tmp_path: Path) -> None:
    release = on_torch(_night(1, "failed"), "2.15.0.dev20261102+cpu", channel=Channel.RELEASE)
    odd = on_torch(_night(2, "failed"), "what a plugin made of it")
    gone = _night(3, "passed").model_copy(update={"torch": None})
    runs = [_night(0, "passed"), release, odd, gone, _night(4, "failed")]
    assert _ends(_history(tmp_path, *runs)) == ("night000", "night004")


def test_with_one_end_given_the_other_alone_is_looked_for(tmp_path: Path) -> None:
    runs = [
        _night(number, outcome) for number, outcome in enumerate(["passed", "failed", "passed", "failed", "failed"])
    ]
    store = _history(tmp_path, *runs)
    assert _ends(store, good="2.15.0.dev20261104+cpu") == (None, "night004")
    assert _ends(store, bad="2.15.0.dev20261103+cpu") == ("night000", None)
    never_passed = _history(tmp_path / "other", _night(0, "failed"), _night(1, "failed"))
    assert _ends(never_passed, good="2.15.0.dev20261101+cpu") == (None, "night001")


@pytest.mark.parametrize(
    ("runs", "what"),
    [
        ([("failed", 0), ("passed", 1)], "passes in the newest run that has it, night001-dev"),
        (
            [("failed", 0), ("failed", 1)],
            "has never passed on a nightly; the first run in which it failed is night000-dev",
        ),
        ([("passed", 3), ("failed", 3)], "passed and then failed on the same torch 2.15.0.dev20261104+cpu; the plugin"),
        ([("skipped", 0)], "no run of `dev` on a nightly has an outcome of"),
        ([], "no run of `dev` on a nightly has an outcome of"),
    ],
)
def test_where_there_is_nothing_to_search_it_is_said_why(
    tmp_path: Path, runs: list[tuple[str, int]], what: str
) -> None:
    nights = [
        _night(number, outcome, torch=torch, commit=str(number) * 40) for number, (outcome, torch) in enumerate(runs)
    ]
    with pytest.raises(NothingToBisect) as caught:
        _ends(_history(tmp_path, *nights))
    assert what in caught.value.what
    assert "--good and --bad" in caught.value.fix


def test_a_wrong_id_is_answered_with_the_nearest(tmp_path: Path) -> None:
    store = _history(tmp_path, _night(0, "passed"))
    with pytest.raises(NothingToBisect) as caught:
        ends_of(store, "dev", "smoke/test_x.py::ones")
    assert f"did you mean `{TEST}`?" in caught.value.fix


@pytest.mark.parametrize(
    ("commit", "held"), [("a" * 40, "a" * 40), (f"{'a' * 40}-dirty", None), ("main", None), ("", None)]
)
def test_only_a_clean_commit_can_be_held(commit: str, held: str | None) -> None:
    mark = Mark(plan_id="night000", date=night(0), plugin_commit=commit or None)
    assert commit_to_hold(mark) == held


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
