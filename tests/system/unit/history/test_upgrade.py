"""A history of version 1 becomes one of this version with nothing lost, also when that is ended at any point."""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest

from ootci.errors import HistoryCorrupt, HistoryOutdated
from ootci.history.join import join
from ootci.history.store import History
from ootci.history.upgrade import Upgraded, upgrade
from ootci.history.verify import verify
from ootci.model.plan import Plan
from ootci.model.record import parse
from ootci.model.run import Run

SAMPLE = Path(__file__).parents[2] / "golden" / "history-v1" / "before"


def _old_plans() -> tuple[Plan, ...]:
    return tuple(parse(Plan, path.read_bytes(), where=str(path)) for path in sorted(SAMPLE.glob("plans/*.json")))


def _old_runs(device: str) -> tuple[Run, ...]:
    paths = sorted(SAMPLE.glob(f"runs/{device}/*.json.gz"))
    return tuple(parse(Run, gzip.decompress(path.read_bytes()), where=str(path)) for path in paths)


def _is_whole(folder: Path) -> bool:
    history = History(folder)
    runs = all(history.runs(device) == _old_runs(device) for device in ("dev", "other"))
    return runs and history.plans() == _old_plans() and not verify(folder).problems


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return shutil.copytree(SAMPLE, tmp_path / "data")


def test_everything_is_there_afterwards_and_the_old_files_are_not(old: Path) -> None:
    assert upgrade(old) == Upgraded(plans=2, runs=4)
    assert _is_whole(old)
    assert {path.name for path in old.iterdir()} == {"format.json", "tests.jsonl", "2026-11", "details"}
    assert upgrade(old) is None


def test_what_cannot_be_read_stops_it_before_anything_has_changed(old: Path) -> None:
    (old / "runs" / "dev" / "night001.1.json.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(HistoryCorrupt, match="cannot be unpacked"):
        upgrade(old)
    with pytest.raises(HistoryOutdated):
        History(old)


def _ended_at(number: int, folder: Path) -> bool:
    """Upgrade in a process that is killed at that change of the file system; whether there were so many."""
    child = os.fork()
    if child == 0:
        left = number

        def count(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event in ("os.rename", "os.remove", "os.rmdir", "os.mkdir") or (
                event == "open" and str(arguments[0]).startswith(str(folder)) and arguments[2] != os.O_CLOEXEC
            ):
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1

        sys.addaudithook(count)
        try:
            upgrade(folder)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_ended_at_any_point_it_leaves_the_old_or_the_new_history_and_can_be_repeated(tmp_path: Path) -> None:
    number, seen = 0, set()
    while True:
        folder = shutil.copytree(SAMPLE, tmp_path / str(number))
        if not _ended_at(number, folder):
            break
        try:
            assert _is_whole(folder)
            seen.add("new")
        except HistoryOutdated:
            assert all((folder / path.relative_to(SAMPLE)).exists() for path in SAMPLE.rglob("*"))
            seen.add("old")
        upgrade(folder)
        assert _is_whole(folder)
        assert {path.name for path in folder.iterdir() if not path.match(".*.tmp")} == {
            "format.json",
            "tests.jsonl",
            "2026-11",
            "details",
        }
        number += 1
    assert seen == {"old", "new"}
    assert number > 20


def test_a_branch_of_version_1_takes_what_a_folder_of_this_version_has(old: Path, tmp_path: Path) -> None:
    assert join(old, tmp_path / "empty") == 0
    assert _is_whole(old)
