"""How people name a run, and what they are told when there is none of that name."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import night, plan, run, stored

from ootci.errors import NoSuchRun, StageFileInvalid, StageFileMissing
from ootci.history.reference import find_run
from ootci.history.store import History
from ootci.model.record import write


@pytest.fixture
def history(tmp_path: Path) -> History:
    """Three nights of a device, the second of them in two attempts, and three of one with a longer name."""
    plans = [plan(number) for number in (0, 1, 10, 100, 1000)]
    runs = [run(number, "dev", attempt=attempt) for number, attempt in ((0, 1), (1, 1), (1, 2), (10, 1))]
    return stored(tmp_path / "data", *plans, *runs, *(run(number, "other_dev") for number in (0, 100, 1000)))


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("dev@latest", ("dev", "night010", 1)),
        ("dev@previous", ("dev", "night001", 2)),
        ("dev@night001", ("dev", "night001", 2)),
        ("dev@night001.1", ("dev", "night001", 1)),
        ("dev@night01", ("dev", "night010", 1)),
        ("night001-dev", ("dev", "night001", 2)),
        ("night001-dev.1", ("dev", "night001", 1)),
        ("other_dev@night100", ("other_dev", "night100", 1)),
        ("night000-other_dev", ("other_dev", "night000", 1)),
    ],
)
def test_a_run_is_found_by_its_name(history: History, name: str, found: tuple[str, str, int]) -> None:
    record = find_run(history, name)
    assert (record.device, record.plan_id, record.attempt) == found


def test_a_run_is_found_by_its_file(history: History, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(run(7, "elsewhere"), tmp_path / "run.json")
    monkeypatch.chdir(tmp_path)
    assert find_run(history, "run.json").device == "elsewhere"
    assert find_run(history, str(tmp_path / "run.json")).device == "elsewhere"
    with pytest.raises(StageFileMissing):
        find_run(history, "gone/run.json")
    (tmp_path / "run.json").write_text("{}", encoding="utf-8")
    with pytest.raises(StageFileInvalid):
        find_run(history, "run.json")


@pytest.mark.parametrize(
    ("name", "what", "hint"),
    [
        ("dve@latest", "no run of a device `dve`", "did you mean `dev`?"),
        ("dev@night00", "fits 2 nightlies", "dev@night001, dev@night000"),
        ("dev@nigth001", "the device has no run of such a nightly, of 3 that it has", "dev@night001"),
        ("dev@20300101", "the device has no run of such a nightly", "dev@night010, dev@night001, dev@night000"),
        ("dev@night001.3", "the nightly has no such attempt", "dev@night001.2, dev@night001.1"),
        ("dev@", "the device has no run of such a nightly", "dev@night010"),
        ("night001", "names no run", "devices with runs: dev, other_dev"),
        ("night001-dve", "names no run", "DEVICE@latest"),
        ("../x", None, None),
    ],
)
def test_what_is_not_there_is_answered_with_what_is(
    history: History, name: str, what: str | None, hint: str | None
) -> None:
    if what is None or hint is None:
        with pytest.raises(StageFileMissing):
            find_run(history, name)
        return
    with pytest.raises(NoSuchRun) as caught:
        find_run(history, name)
    assert what in caught.value.what
    assert hint in caught.value.fix
    assert caught.value.where == str(history.folder)


def test_an_old_nightly_that_is_run_again_does_not_become_the_newest(tmp_path: Path) -> None:
    store = stored(tmp_path / "data", plan(0), plan(1), run(0), run(1))
    again = run(0, attempt=2)
    store.append_run(again.model_copy(update={"started_at": night(5), "finished_at": night(6)}))
    assert find_run(store, "dev@latest").plan_id == "night001"
    previous = find_run(store, "dev@previous")
    assert (previous.plan_id, previous.attempt) == ("night000", 2)


def test_one_nightly_has_none_before_it(tmp_path: Path) -> None:
    store = stored(tmp_path / "data", plan(0), run(0))
    with pytest.raises(NoSuchRun, match="the device has reported on 1 nightly only") as caught:
        find_run(store, "dev@previous")
    assert "dev@night000" in caught.value.fix


def test_an_empty_history_says_where_one_comes_from(tmp_path: Path) -> None:
    for name in ("dev@latest", "night000-dev"):
        with pytest.raises(NoSuchRun) as caught:
            find_run(History(tmp_path / "data"), name)
        assert "`ootci history fetch`" in caught.value.fix
