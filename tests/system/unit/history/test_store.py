"""The history: facts are added, never changed, and a fact that cannot be read back is told."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter
from unit.samples import changed, night, nights, plan, run, stored, whole_runs, with_runs

from ootci.errors import (
    EXIT_INPUT,
    HistoryConflict,
    HistoryCorrupt,
    OotciError,
    StageFileVersion,
)
from ootci.history.layout import pack, unpack
from ootci.history.store import History
from ootci.model.accuracy import Accuracy
from ootci.model.outcome import NOT_PASSED, Attempt, Outcome, OutcomeName, Way
from ootci.model.run import CapabilityCounts, OperatorCount, Run
from ootci.model.training import Training


def _content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_appended_is_read_back_in_the_order_of_the_nights(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in (2, 0, 1):
        assert history.append_plan(plan(number))
        assert history.append_run(run(number))
    assert [item.id for item in history.plans()] == ["night000", "night001", "night002"]
    assert whole_runs(history, "dev") == (run(0), run(1), run(2))
    assert tuple(map(history.whole, history.newest_stored("dev"))) == (run(2), run(1), run(0))
    assert history.devices() == ("dev",)
    again = History(tmp_path)
    assert (again.plans(), whole_runs(again, "dev")) == (history.plans(), whole_runs(history, "dev"))
    month = f"{night(0):%Y-%m}"
    files = set(_content(tmp_path))
    assert {name for name in files if not name.startswith("tests/")} == {
        "format.json",
        *(f"{month}/night00{number}/{name}.json" for number in range(3) for name in ("plan", "dev.1")),
        *(f"details/{month}/dev.night00{number}.1.measures.json.gz" for number in range(3)),
    }
    assert len(files) == 10 + len({item.suite for item in run().outcomes}), "runs of the same tests share their lists"


_TEXT = st.one_of(st.none(), st.text(max_size=30))
_ERROR = st.one_of(st.none(), st.floats(0, 1e9))
_TESTS = st.dictionaries(
    st.text(min_size=1, max_size=8),
    st.tuples(
        st.sampled_from(["smoke", "ops"]),
        st.sampled_from(OutcomeName),
        st.one_of(st.none(), st.sampled_from(Way)),
        _TEXT,
        _TEXT,
        st.floats(0, 1e6),
        st.lists(st.sampled_from(OutcomeName), max_size=2),
        st.one_of(st.none(), st.builds(Accuracy, st.integers(1, 9), *[_ERROR] * 4)),
        st.one_of(st.none(), st.builds(Training, *[st.floats(0, 1e9)] * 2, st.one_of(st.none(), st.integers(0, 9)))),
    ),
    max_size=12,
)


def _run_with(number: int, tests: dict[str, tuple[object, ...]], attempt: int) -> Run:
    outcomes = [
        TypeAdapter(Outcome).validate_python(
            {
                "id": f"{'smoke/' if number % 2 else ''}{name}",
                "suite": suite,
                "outcome": outcome,
                "ran": ran,
                "capability": text,
                "title": message,
                "message": message,
                "text": text,
                "duration": duration,
                "attempts": [Attempt(outcome=again, message=message) for again in later],
                "accuracy": accuracy,
                "training": training,
            }
        )
        for name, (suite, outcome, ran, message, text, duration, later, accuracy, training) in tests.items()
    ]
    operators = (OperatorCount(operator="aten::add", native=number),)
    return run(number, attempt=attempt, stages={"ops": "failed"}).model_copy(
        update={
            "outcomes": tuple(outcomes),
            "capabilities": CapabilityCounts.of(outcomes),
            "operators": operators,
            "queued_at": night(number) if number % 2 else None,
        }
    )


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 2), _TESTS), max_size=8), st.randoms())
@settings(max_examples=60)
def test_every_run_comes_back_as_it_was_whatever_the_order_of_arrival(
    tmp_path_factory: pytest.TempPathFactory,
    given_runs: list[tuple[int, int, dict[str, tuple[object, ...]]]],
    chance: random.Random,
) -> None:
    runs = {(number * 17, attempt): _run_with(number * 17, tests, attempt) for number, attempt, tests in given_runs}
    folder = tmp_path_factory.mktemp("history")
    for number, _ in runs:
        History(folder).append_plan(plan(number))
    shuffled = list(runs.values())
    chance.shuffle(shuffled)
    for item in shuffled:
        assert History(folder).append_run(item)
    expected = tuple(item for _, item in sorted(runs.items()))
    assert whole_runs(History(folder), "dev") == expected
    assert not any(History(folder).append_run(item) for item in shuffled)
    again = History(folder)
    for suites in ((), ("smoke",)):
        short = tuple(
            again.whole(run, {*run.with_outcomes(NOT_PASSED), *run.of_suites(suites).rows()})
            for run in again.stored_runs("dev")
        )
        assert short == tuple(
            run.model_copy(
                update={
                    "outcomes": tuple(
                        item for item in run.outcomes if item.outcome is not OutcomeName.PASSED or item.suite in suites
                    )
                }
            )
            for run in expected
        )


def test_records_that_are_appended_together_are_written_at_the_end_also_after_an_error(tmp_path: Path) -> None:
    history = History(tmp_path / "together")

    def append() -> None:
        history.append_plan(plan())
        assert history.append_run(run())
        assert not history.append_run(run())
        assert history.append_run(run(attempt=2, smoke={"one": "failed", "new": "passed"}))
        assert not (tmp_path / "together").exists()
        history.append_run(run(smoke={"one": "failed"}))

    with pytest.raises(HistoryConflict, match="attempt 1"), history.batch():
        append()
    assert whole_runs(history, "dev") == (run(), run(attempt=2, smoke={"one": "failed", "new": "passed"}))
    stored(tmp_path / "one", plan(), run(), run(attempt=2, smoke={"one": "failed", "new": "passed"}))
    assert _content(tmp_path / "together") == _content(tmp_path / "one")


def test_a_test_whose_title_changes_leaves_past_runs_as_they_were(tmp_path: Path) -> None:
    runs = [changed(run(number), lambda _: True, title=title) for number, title in enumerate(("old", "new", "old"))]
    stored(tmp_path, *nights(*runs))
    assert whole_runs(History(tmp_path), "dev") == tuple(runs)


def test_the_table_of_tests_has_those_of_a_run_that_was_appended_after_another_was_read(tmp_path: Path) -> None:
    history = stored(tmp_path, plan(0), run(0, smoke={"one": "passed"}))
    assert history.devices() == ("dev",)
    history.append_plan(plan(1))
    history.append_run(run(1, smoke={"two": "passed"}))
    assert "smoke/test_x.py::two" in [test.id for test in history.tests.tests]


def test_a_run_of_a_nightly_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryConflict, match="the nightly night003 of the run"):
        stored(tmp_path, plan()).append_run(run(3))


def test_an_empty_or_missing_folder_is_an_empty_history_and_reading_makes_nothing(tmp_path: Path) -> None:
    history = History(tmp_path / "gone")
    assert (history.plans(), whole_runs(history, "dev"), history.devices()) == ((), (), ())
    assert not (tmp_path / "gone").exists()


def test_appending_again_changes_no_byte(tmp_path: Path) -> None:
    history = stored(tmp_path, plan(), run())
    before = _content(tmp_path)
    for again in (history, History(tmp_path)):
        assert not again.append_plan(plan())
        assert not again.append_run(run())
    assert _content(tmp_path) == before


def test_another_record_of_the_same_identity_is_refused_and_the_first_stays(tmp_path: Path) -> None:
    history = stored(tmp_path, plan(), run())
    before = _content(tmp_path)
    slower = changed(run(), lambda _: True, duration=9)
    for other in (run(smoke={"one": "failed"}), run(smoke={"other": "passed"}), slower):
        with pytest.raises(HistoryConflict) as caught:
            history.append_run(other)
        assert caught.value.exit_code == EXIT_INPUT
    with pytest.raises(HistoryConflict):
        history.append_plan(plan(0, ("other",)))
    assert _content(tmp_path) == before
    assert history.append_run(run(smoke={"one": "failed"}, attempt=2))
    assert [item.attempt for item in whole_runs(history, "dev")] == [1, 2]


def test_what_the_plan_took_from_the_history_is_not_stored_in_it_again(tmp_path: Path) -> None:
    history = History(tmp_path)
    told = with_runs(plan(), failing_before=("a/b",))
    assert history.append_plan(told)
    assert History(tmp_path).plans() == (plan(),)
    assert not history.append_plan(told)


@pytest.mark.parametrize("content", [b"", b"not packed", b"\x1f\x8b\x08\x00"])
def test_damaged_details_are_noticed_and_their_file_named(tmp_path: Path, content: bytes) -> None:
    history = stored(tmp_path, plan(), run())
    (path,) = tmp_path.glob("details/*/*.gz")
    path.write_bytes(content)
    with pytest.raises(HistoryCorrupt) as caught:
        whole_runs(history, "dev")
    assert caught.value.where == str(path)


def test_without_its_details_a_run_is_still_there(tmp_path: Path) -> None:
    history = stored(tmp_path, plan())
    one = run(smoke={"one": "failed", "two": "passed"})
    history.append_run(changed(one, lambda _: True, message="no", duration=2.0))
    for path in tmp_path.glob("details/*/*.gz"):
        path.unlink()
    assert whole_runs(History(tmp_path), "dev") == (one,)


@pytest.mark.parametrize("name", ["dev.1", "plan"])
def test_a_record_of_a_newer_tool_asks_for_the_newer_tool(tmp_path: Path, name: str) -> None:
    stored(tmp_path, plan()).append_run(run())
    (path,) = tmp_path.glob(f"*/*/{name}.json")
    record = unpack(path.read_bytes(), path)
    record.get("run", record)["schema_version"] = 99
    path.write_bytes(pack(record))
    with pytest.raises(StageFileVersion):
        [History(tmp_path).plans(), whole_runs(History(tmp_path), "dev")]


@pytest.mark.parametrize("marker", ["", "{}", '{"format": "ootci-history", "version": 2}', "[]", "not json"])
def test_a_history_of_another_format_is_not_touched(tmp_path: Path, marker: str) -> None:
    (tmp_path / "format.json").write_text(marker, encoding="utf-8")
    with pytest.raises(HistoryCorrupt, match="another format"):
        History(tmp_path)


def test_a_record_that_was_being_written_is_not_there_and_does_no_harm(tmp_path: Path) -> None:
    stored(tmp_path, *nights(run(0), run(1, smoke={"one": "failed", "new": "passed"})))
    (path,) = tmp_path.glob("*/night001/dev.1.json")
    path.rename(path.with_name(f".{path.name}.1234.tmp"))
    again = History(tmp_path)
    assert whole_runs(again, "dev") == (run(0),)
    assert again.append_run(run(1, smoke={"one": "passed"}))
    assert whole_runs(History(tmp_path), "dev") == (run(0), run(1, smoke={"one": "passed"}))


_APPENDING = """
import sys
from pathlib import Path
from unit.samples import plan, run
from ootci.history.layout import pack, unpack
from ootci.history.store import History
for number in range(500):
    History(Path(sys.argv[1])).append_plan(plan(number))
    History(Path(sys.argv[1])).append_run(run(number, smoke={f"t{number}": "failed"}))
    print(number, flush=True)
"""


@pytest.mark.parametrize("lines", [2, 5, 9])
def test_a_writer_that_is_killed_leaves_the_old_or_the_new_state(tmp_path: Path, lines: int) -> None:
    tests = Path(__file__).parents[2]
    writer = subprocess.Popen(
        [sys.executable, "-c", _APPENDING, str(tmp_path)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])},
    )
    assert writer.stdout is not None
    told = [writer.stdout.readline() for _ in range(lines)]
    time.sleep(0.001 * lines)
    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    last = int(told[-1])
    found = whole_runs(History(tmp_path), "dev")
    assert [item.plan_id for item in found[: last + 1]] == [f"night{number:03d}" for number in range(last + 1)]
    assert all(item == run(number, smoke={f"t{number}": "failed"}) for number, item in enumerate(found))
    History(tmp_path).append_plan(plan(900))
    assert History(tmp_path).append_run(run(900))


@given(st.binary(max_size=300), st.sampled_from(["*/*/dev.1", "*/*/plan", "tests/*"]), st.integers(0, 400))
@settings(max_examples=80)
def test_whatever_is_in_the_files_reading_ends_with_runs_or_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, name: str, place: int
) -> None:
    folder = tmp_path_factory.mktemp("history")
    stored(folder, plan()).append_run(run())
    path = next(folder.glob(f"{name}.json"))
    content = path.read_bytes()
    path.write_bytes(content[:place] + junk + content[place:])
    try:
        found = whole_runs(History(folder), "dev")
    except OotciError:
        return
    assert found in ((run(),), ())


def test_a_run_has_a_letter_for_each_test_of_a_list_that_others_share(tmp_path: Path) -> None:
    history = stored(tmp_path, plan(), plan(1), plan(2))
    tests = {f"t{number:03}": "passed" for number in range(300)}
    for number in (0, 1):
        history.append_run(run(number, smoke={**tests, "t007": "failed" if number == 1 else "passed"}, integration={}))
    history.append_run(run(2, smoke={**tests, "zebra": "passed"}, integration={}))
    first, second, third = (
        unpack(path.read_bytes(), path)["tests"] for path in sorted(tmp_path.glob("*/*/dev.1.json"))
    )
    (suite, digest, letters, ways), other = first[0], second[0]
    assert (suite, letters, ways) == ("smoke", "p300", "")
    assert (other[1], other[2]) == (digest, "p7fp292")
    assert third[0][1] != digest
    assert sorted(path.stem for path in tmp_path.glob("tests/*.json")) == sorted([digest, third[0][1]])
