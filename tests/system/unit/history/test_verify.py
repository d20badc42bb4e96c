"""`verify` finds whatever is wrong with a history, and `gc` removes only what it should."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.samples import detailed_run, four_nights, night, plan, whole_runs

from ootci.history import gc
from ootci.history.details import Measures, Texts
from ootci.history.gc import ACCURACY_RUNS, old_details, remove
from ootci.history.reader import HistoryReader
from ootci.history.store import History
from ootci.history.tables import list_digest, write_list
from ootci.history.verify import Report, verify
from ootci.model.accuracy import Accuracy
from ootci.model.run import Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four nights of one device and one of another."""
    return four_nights(tmp_path / "data")


def test_a_history_in_order_is_counted(folder: Path) -> None:
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    assert verify(folder) == Report(
        nightlies=4, devices=2, runs=5, tests=3, outcomes=14, texts=4, measures=5, bytes=size
    )
    assert verify(folder / "nowhere") == Report()


def _packed(text: str) -> Callable[[bytes], bytes]:
    return lambda _: gzip.compress(text.encode())


MONTH = f"{night(0):%Y-%m}"
SMOKE = f"tests/{list_digest(write_list([item for item in detailed_run(0).outcomes if item.suite == 'smoke']))}.json"
DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes] | None, str, str]] = {
    "run-changed": (
        f"{MONTH}/night000/dev.1.json",
        lambda text: text.replace(b'"device":"dev"', b'"device":"den"', 1),
        f"{MONTH}/night000/dev.1.json",
        "the file cannot be read back: the checksum is wrong",
    ),
    "run-gone": (
        f"{MONTH}/night003/dev.1.json",
        None,
        f"details/{MONTH}/dev.night003.1.measures.json.gz",
        "the run of these details is not in the history",
    ),
    "nightly-gone": (
        f"{MONTH}/night003/plan.json",
        None,
        f"{MONTH}/night003/dev.1.json",
        "the nightly night003 of the run night003-dev is not in the history",
    ),
    "nightly-changed": (
        f"{MONTH}/night002/plan.json",
        lambda text: text.replace(b"night002-other", b"night009-other"),
        f"{MONTH}/night002/plan.json",
        "the file cannot be read back: the checksum is wrong",
    ),
    "test-changed": (
        SMOKE,
        lambda text: text.replace(b"::two", b"::ten"),
        SMOKE,
        "the tests cannot be read back: its content does not match its name",
    ),
    "test-broken": (SMOKE, lambda _: b"{}", SMOKE, "the tests cannot be read back"),
    "tests-gone": (SMOKE, None, SMOKE, "the tests cannot be read back"),
    "texts-broken": (
        f"details/{MONTH}/dev.night001.1.texts.json.gz",
        lambda text: text[:20],
        f"details/{MONTH}/dev.night001.1.texts.json.gz",
        "the details cannot be read back",
    ),
    "texts-of-more": (
        f"details/{MONTH}/dev.night001.1.texts.json.gz",
        _packed('{"tests": {"3": {"message": "x"}}}'),
        f"details/{MONTH}/dev.night001.1.texts.json.gz",
        "the details name tests or stages that the run does not have",
    ),
    "measures-of-fewer": (
        f"details/{MONTH}/dev.night001.1.measures.json.gz",
        _packed('{"durations": [1.0, 2.0]}'),
        f"details/{MONTH}/dev.night001.1.measures.json.gz",
        "the details name tests or stages that the run does not have",
    ),
    "order-of-nothing": (
        f"details/{MONTH}/dev.night001.1.measures.json.gz",
        _packed('{"order": [0, 1, 1]}'),
        f"details/{MONTH}/dev.night001.1.measures.json.gz",
        "the details name tests or stages that the run does not have",
    ),
    "format-gone": ("format.json", None, "format.json", "the file that names the format is missing"),
    "format-other": ("format.json", lambda _: b"[]", "format.json", "the folder holds a history of another format"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_wrong_is_found_with_its_place(folder: Path, name: str) -> None:
    file, damage, where, what = DAMAGES[name]
    path = folder / file
    if damage is None:
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(damage(content))
        assert path.read_bytes() != content
    problems = verify(folder).problems
    places = [(problem.where, problem.what) for problem in problems]
    assert any(place == str(folder / where) and said.startswith(what) for place, said in places), places
    assert all(problem.fix for problem in problems)


def test_a_month_with_runs_of_another_is_wrong(folder: Path) -> None:
    (folder / MONTH).rename(folder / "2026-12")
    whats = {problem.what for problem in verify(folder).problems}
    assert "the nightly night000 is of another month" in whats


def test_what_an_ended_command_left_is_said_and_is_no_problem(folder: Path) -> None:
    (folder / MONTH / "night000" / ".dev.2.tmp").touch()
    (folder / "notes.txt").touch()
    (folder / ".git").mkdir()
    (folder / ".git" / "config").touch()
    report = verify(folder)
    assert report.problems == ()
    assert report.notes == (
        f"{folder}/{MONTH}/night000/.dev.2.tmp: a command that was ended left it; `ootci history gc` removes it",
        f"{folder}/notes.txt: no file of a history",
    )


def _kept(folder: Path, kind: type[Texts | Measures]) -> list[str]:
    return sorted(
        path.name.split(f".{kind.__name__.lower()}")[0]
        for path in folder.glob(f"details/*/dev.*.{kind.__name__.lower()}.*")
    )


def _keep(monkeypatch: pytest.MonkeyPatch, nights: int, runs: int) -> None:
    monkeypatch.setattr(gc, "TEXTS_NIGHTS", nights)
    monkeypatch.setattr(gc, "MEASURES_RUNS", runs)


@pytest.mark.parametrize(
    ("nights", "runs", "texts", "measures"),
    [
        (90, 5, [0, 1, 2, 3], [0, 1, 2, 3]),
        (1, 1, [2, 3], [3]),
        (0, 2, [2, 3], [2, 3]),
        (2, 0, [1, 2, 3], []),
    ],
)
def test_old_details_go_and_the_newest_stay(
    folder: Path, monkeypatch: pytest.MonkeyPatch, nights: int, runs: int, texts: list[int], measures: list[int]
) -> None:
    _keep(monkeypatch, nights, runs)
    found = old_details(HistoryReader(folder))
    assert len(_kept(folder, Texts)) == 4, "it only says what would go"
    remove(found, folder)
    assert _kept(folder, Texts) == [f"dev.night00{number}.1" for number in texts]
    assert _kept(folder, Measures) == [f"dev.night00{number}.1" for number in measures]
    report = verify(folder)
    assert (report.problems, report.notes, report.runs) == ((), (), 5)
    outcomes = [[item.outcome for item in found.outcomes] for found in whole_runs(History(folder), "dev")]
    assert outcomes == [[item.outcome for item in detailed_run(0).outcomes]] * 4
    assert old_details(HistoryReader(folder)) == ()


def test_a_device_that_is_silent_for_long_keeps_its_last_words(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _keep(monkeypatch, 90, 1)
    History(folder).append_plan(plan(200))
    remove(old_details(HistoryReader(folder)), folder)
    assert _kept(folder, Texts) == ["dev.night003.1"]


def test_the_newest_attempts_are_those_of_the_newest_nightlies_however_late_they_came(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _keep(monkeypatch, 0, 1)
    History(folder).append_run(detailed_run(0, attempt=2))
    remove(old_details(HistoryReader(folder)), folder)
    assert _kept(folder, Measures) == ["dev.night003.1"]


def _measured(number: int) -> Run:
    run = detailed_run(number)
    errors = Accuracy(9, 0.5, 0.0, 0.5, 0.0)
    return run.model_copy(
        update={"outcomes": (run.outcomes[0].model_copy(update={"accuracy": errors}), *run.outcomes[1:])}
    )


def test_errors_of_results_are_kept_for_the_newest_runs_and_verified(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in range(ACCURACY_RUNS + 2):
        history.append_plan(plan(number))
        history.append_run(_measured(number))
    remove(old_details(HistoryReader(tmp_path)), tmp_path)
    kept = sorted(tmp_path.glob("details/*/*.accuracies.json.gz"))
    assert [path.name.split(".")[1] for path in kept] == [f"night{n:03}" for n in range(2, ACCURACY_RUNS + 2)]
    assert len({path.read_bytes() for path in kept}) == 1, "the same errors are the same file, which git keeps once"
    report = verify(tmp_path)
    assert (report.problems, report.notes, report.accuracies) == ((), (), ACCURACY_RUNS)
    kept[0].write_bytes(gzip.compress(gzip.decompress(kept[0].read_bytes()).replace(b'{"0":', b'{"3":')))
    (problem,) = verify(tmp_path).problems
    assert (problem.where, problem.what) == (
        str(kept[0]),
        "the details name tests or stages that the run does not have",
    )
