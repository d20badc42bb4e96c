"""Between which two nightlies a test began to fail, from runs of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version
from unit.samples import night, plan, run

from ootci.errors import NothingToBisect
from ootci.history.last_passed import commit_to_hold, ends_of
from ootci.history.store import History
from ootci.model.build import PluginBuild
from ootci.model.outcome import Attempt, OutcomeName
from ootci.model.run import Run
from ootci.model.spell import Mark
from ootci.model.torch_build import Channel, TorchBuild

TEST = "smoke/test_x.py::one"


def _night(number: int, outcome: str | None, *, attempt: int = 1, torch: int | None = None, commit: str = "") -> Run:
    """A run of the nightly of that day, in which the test came to that."""
    record = run(number, smoke={} if outcome in (None, "flaky") else {"one": outcome or ""}, attempt=attempt)
    if outcome == "flaky":
        record = run(number, smoke={"one": "failed"}, attempt=attempt)
        again = (Attempt(outcome=OutcomeName.PASSED),)
        outcomes = [item.model_copy(update={"attempts": again}) for item in record.outcomes if item.is_failure]
        record = record.model_copy(update={"outcomes": tuple(outcomes)})
    version = f"2.15.0.dev{20261101 + (number if torch is None else torch)}+cpu"
    plugin = PluginBuild(package="p", version="1", source="p", commit=commit) if commit else None
    return record.model_copy(update={"torch": TorchBuild(version=version), "plugin": plugin})


def _history(folder: Path, *runs: Run) -> History:
    store = History(folder / "data")
    for record in runs:
        store.append_plan(plan(int(record.plan_id.removeprefix("night"))))
        store.append_run(record)
    return store


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
    release = _night(1, "failed")
    request = release.torch_request.model_copy(update={"channel": Channel.RELEASE})
    odd = _night(2, "failed").model_copy(update={"torch": TorchBuild(version="what a plugin made of it")})
    gone = _night(3, "passed").model_copy(update={"torch": None})
    runs = [_night(0, "passed"), release.model_copy(update={"torch_request": request}), odd, gone, _night(4, "failed")]
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
        ([("failed", 0), ("passed", 1)], "passes in the newest run that says anything of it, night001-dev"),
        (
            [("failed", 0), ("failed", 1)],
            "has never passed on a nightly; the first run in which it failed is night000-dev",
        ),
        ([("passed", 3), ("failed", 3)], "passed and then failed on the same torch 2.15.0.dev20261104+cpu; the plugin"),
        ([("skipped", 0)], "no run of `dev` on a nightly says anything of"),
        ([], "no run of `dev` on a nightly says anything of"),
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
