"""Two publishers at once, in processes of their own, with clones of one bare repository; and one that is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from repositories import bare_repository, git
from unit.history import publisher
from unit.history.publisher import DEVICES, run_of
from unit.samples import plan, whole_runs

from ootci.adapters.data_branch import DataBranch
from ootci.adapters.process import end_all_with
from ootci.history.layout import UNFINISHED
from ootci.history.store import History

TESTS = Path(__file__).parents[2]


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return bare_repository(tmp_path / "remote.git")


def _branch(folder: Path, remote: Path) -> DataBranch:
    return DataBranch(folder, str(remote), unfinished=UNFINISHED, wait=lambda _: None)


def _start(folder: Path, remote: Path, device: str, first: int, count: int, mark: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, publisher.__file__, str(folder), str(remote), device, str(first), str(count)]
    path = os.pathsep.join([str(TESTS), *sys.path])
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path, "MARK": mark}
    )


def _published(tmp_path: Path, remote: Path) -> History:
    fresh = tmp_path / "fresh"
    assert _branch(fresh, remote).fetch()
    return History(fresh)


def test_two_publishers_at_once_both_get_in_night_after_night(tmp_path: Path, remote: Path) -> None:
    nights = 5
    running = [_start(tmp_path / device, remote, device, 0, nights) for device in DEVICES]
    for process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said.decode()
    history = _published(tmp_path, remote)
    assert history.plans() == tuple(plan(number, DEVICES) for number in range(nights))
    for device in DEVICES:
        assert whole_runs(history, device) == tuple(run_of(number, device) for number in range(nights))
        folder = tmp_path / device
        assert _branch(folder, remote).fetch()
        assert whole_runs(History(folder), "one") == whole_runs(history, "one")
    log = git(remote, "log", "--format=%H %P", "data")
    assert len(log.splitlines()) == 2 * nights
    assert all(len(line.split()) <= 2 for line in log.splitlines()), "a commit has more than one parent"


def test_a_publisher_that_is_killed_again_and_again_loses_nothing_and_says_nothing_twice(
    tmp_path: Path, remote: Path
) -> None:
    other, nights = tmp_path / "two", 3
    other_history = _branch(other, remote)
    for attempt in range(8):
        mark = f"killed-{os.getpid()}-{attempt}"
        # Somebody else has published meanwhile, so that there is something to join.
        other_history.fetch()
        History(other).append_plan(plan(attempt, DEVICES))
        History(other).append_run(run_of(attempt, "two"))
        publisher.publish(other, str(remote))
        process = _start(tmp_path / "one", remote, "one", 0, nights, mark)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.13 * attempt % 0.5)
        process.kill()
        process.communicate()
        if attempt % 2:
            end_all_with("MARK", mark)
    process = _start(tmp_path / "one", remote, "one", 0, nights)
    _, said = process.communicate()
    assert process.returncode == 0, said.decode()
    history = _published(tmp_path, remote)
    assert whole_runs(history, "one") == tuple(run_of(number, "one") for number in range(nights))
    assert whole_runs(history, "two") == tuple(run_of(number, "two") for number in range(8))
    assert whole_runs(History(tmp_path / "one"), "two") == whole_runs(history, "two")
    assert not (tmp_path / "one" / UNFINISHED).exists()


def test_a_half_moved_folder_is_not_read(tmp_path: Path) -> None:
    History(tmp_path).append_plan(plan())
    (tmp_path / UNFINISHED).touch()
    with pytest.raises(Exception, match="between two states") as caught:
        History(tmp_path)
    assert getattr(caught.value, "id", None) == "HIST-002"
