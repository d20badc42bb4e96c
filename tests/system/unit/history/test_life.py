"""A test's life is told night by night, silence and absence included."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import changed, on_torch, plan, retries, run, stored

from ootci.errors import EXIT_INPUT, NotInHistory
from ootci.history.life import Life, life_of, matching_tests
from ootci.history.store import History
from ootci.model.build import PluginBuild
from ootci.model.outcome import OutcomeName
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild

ONE, TWO = "smoke/test_x.py::one", "smoke/test_x.py::two[a-1]"


def _run(number: int, outcome: str | None, *, attempt: int = 1, message: str | None = None, again: str = "") -> Run:
    tests = {"two[a-1]": "passed"} if outcome is None else {"one": outcome, "two[a-1]": "passed"}
    record = run(number, smoke=tests, attempt=attempt)
    record = changed(record, lambda item: item.id == ONE, message=message, attempts=retries(*again.split()))
    plugin = PluginBuild(package="p", version="1.0", source="p", commit=f"{number // 3}" * 40)
    made = on_torch(record, f"2.15.0.dev2026110{number}", f"{number}" * 40)
    return made.model_copy(update={"plugin": plugin})


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Nights: without the test, passed twice, silent, built in vain, failed, failed and then flaky."""
    stages = {"build": "failed", "import": "not_run", "check": "not_run", "smoke": "not_run", "integration": "not_run"}
    runs = (
        _run(6, "failed", attempt=2, message="late", again="passed"),
        _run(0, None),
        _run(2, "passed"),
        _run(1, "passed"),
        run(4, smoke={}, integration={}, stages=stages),
        _run(6, "failed", message="second"),
        _run(5, "failed", message="first"),
    )
    stored(tmp_path / "data", *map(plan, range(7)), *runs)
    return History(tmp_path / "data")


def _told(life: Life) -> list[tuple[str, int | None, str | None, str | None]]:
    return [
        (entry.nightly[-1], entry.attempt, entry.outcome and entry.outcome.value, entry.absent or entry.message)
        for entry in life.entries
    ]


def test_every_night_since_the_first_has_an_entry(history: History) -> None:
    life = life_of(history, "dev", ONE)
    assert _told(life) == [
        ("1", 1, "passed", None),
        ("2", 1, "passed", None),
        ("3", None, None, "no report"),
        ("4", 1, None, "not in the run: build failed"),
        ("5", 1, "failed", "first"),
        ("6", 1, "failed", "second"),
        ("6", 2, "failed", "late"),
    ]
    assert [len(interval) for interval in life.intervals()] == [2, 1, 1, 2, 1]
    assert life.entries[-1].later == (OutcomeName.PASSED,)
    assert life.streak is None, "in the end, it passed"
    last = life.entries[4]
    assert (last.torch, last.plugin_version, last.plugin_commit) == (
        TorchBuild(version="2.15.0.dev20261105", git_version="5" * 40),
        "1.0",
        "1" * 40,
    )


def test_without_its_texts_a_life_has_no_messages(history: History) -> None:
    for path in history.folder.glob("details/*/*.texts.*"):
        path.unlink()
    assert {entry.message for entry in life_of(history, "dev", ONE).entries} == {None}


def test_names_are_ids_or_patterns_in_which_brackets_mean_themselves(history: History) -> None:
    assert matching_tests(history, "dev", ONE) == (ONE,)
    assert matching_tests(history, "dev", TWO) == (TWO,)
    assert matching_tests(history, "dev", "smoke/*") == (ONE, TWO)
    assert matching_tests(history, "dev", "*[?-1]") == (TWO,)


@pytest.mark.parametrize(
    ("device", "name", "what", "hint"),
    [
        ("dve", "x", "no device `dve` is in the history", "`dev`"),
        ("dev", "smoke/test_x.py::on", "no test `smoke/test_x.py::on` of `dev`", f"`{ONE}`"),
        ("dev", "two", "no test `two` of `dev`", f"`{TWO}`"),
        ("dev", "[a-1] of nothing", "no test", f"`{TWO}`"),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    history: History, device: str, name: str, what: str, hint: str
) -> None:
    with pytest.raises(NotInHistory) as caught:
        matching_tests(history, device, name)
    assert caught.value.what.startswith(what)
    assert hint in caught.value.fix
    assert caught.value.exit_code == EXIT_INPUT


def test_a_device_without_that_test_has_no_life_of_it(history: History) -> None:
    stored(history.folder, plan(8, ("other",)), run(8, "other", smoke={"three": "passed"}))
    with pytest.raises(NotInHistory):
        life_of(history, "other", ONE)
    with pytest.raises(NotInHistory, match="no device"):
        matching_tests(History(history.folder / "empty"), "dev", ONE)


def test_a_message_is_that_of_the_test_also_where_the_run_has_fewer_tests_than_the_history(history: History) -> None:
    record = run(7, "other", smoke={"nine": "failed", "ten": "failed"}, integration={})
    outcomes = tuple(item.model_copy(update={"message": item.id}) for item in record.outcomes)
    history.append_plan(plan(7, ("other",)))
    history.append_run(record.model_copy(update={"outcomes": outcomes}))
    for test in ("smoke/test_x.py::nine", "smoke/test_x.py::ten"):
        assert [entry.message for entry in life_of(history, "other", test).entries] == [test]
