"""``--shard``: a share has a folder of its own, knows the durations, and is in nobody's way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML

from ootci.adapters.folder_lock import locked
from ootci.cli.share import locked_run, share_of
from ootci.errors import BadOption, Busy
from ootci.model.durations import Durations
from ootci.model.record import write
from ootci.model.workspace import Shard, Workspace

from commands import Tool  # isort: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_a_share_has_a_folder_and_the_durations(workspace: Workspace) -> None:
    write(Durations(devices={"dev": {"smoke/a.py::one": 1.5}}), workspace.durations)
    folder, options = share_of(workspace, "dev", "1/2")
    assert folder == workspace.run("dev").shard(Shard(1, 2))
    seconds = folder.path / "seconds.json"
    assert options == ("--shard=1/2", f"--durations-from={seconds}")
    assert json.loads(seconds.read_text(encoding="utf-8")) == {"smoke/a.py::one": 1.5}


def test_without_durations_every_test_counts_alike(workspace: Workspace) -> None:
    folder, _ = share_of(workspace, "dev", "1/1")
    assert json.loads((folder.path / "seconds.json").read_text(encoding="utf-8")) == {}


def test_what_is_left_of_other_shares_is_removed(workspace: Workspace) -> None:
    for text in ("1/3", "1/2", "2/2"):
        share_of(workspace, "dev", text)
    assert workspace.run("dev").shards_found() == (Shard(1, 2), Shard(2, 2))
    assert share_of(workspace, "dev", None) == (workspace.run("dev"), ())
    assert workspace.run("dev").shards_found() == ()


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/2/3", "a/b", "-1/2", "1/2\n", "01/2"])
def test_a_share_that_is_none_is_refused(workspace: Workspace, text: str) -> None:
    with pytest.raises(BadOption) as caught:
        share_of(workspace, "dev", text)
    assert caught.value.where == f"--shard {text}"


SHARES: list[tuple[tuple[str, str | None], tuple[str, str | None], bool]] = [
    (("a", None), ("b", None), True),
    (("a", "1/2"), ("a", "2/2"), True),
    (("a", None), ("a", None), False),
    (("a", "1/2"), ("a", "1/2"), False),
    (("a", None), ("a", "1/2"), False),
    (("a", "1/2"), ("a", None), False),
]


@pytest.mark.parametrize(("one", "other", "together"), SHARES)
def test_runs_of_two_devices_and_two_shares_go_together_and_nothing_else(
    workspace: Workspace, one: tuple[str, str | None], other: tuple[str, str | None], together: bool
) -> None:
    went = False
    with locked_run(workspace, *one):
        try:
            with locked_run(workspace, *other):
                went = True
        except Busy:
            went = False
    assert went is together


def test_nobody_builds_where_a_device_is_tested_and_nobody_tests_where_one_is_built(workspace: Workspace) -> None:
    with locked_run(workspace, "dev", "1/2"), pytest.raises(Busy), locked(workspace.path):
        pass
    with locked(workspace.path), pytest.raises(Busy), locked_run(workspace, "dev", "1/2"):
        pass


@pytest.mark.parametrize("command", ["test", "collect"])
def test_a_run_that_is_at_work_is_left_alone(ootci: Tool, tmp_path: Path, command: str) -> None:
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "dev.yaml").write_text(DEVICE_YAML.format(name="dev"), encoding="utf-8")
    with locked_run(Workspace(tmp_path / ".ootci"), "dev"):
        ran = ootci(command, "dev", cwd=tmp_path)
    assert ran.code == 3
    assert "error HOST-003: another run of ootci uses this folder" in ran.err
