"""``--shard``: a share has a folder of its own, knows the durations, and leaves nothing of other shares behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ootci.cli.share import share_of
from ootci.errors import BadOption
from ootci.model.durations import Durations
from ootci.model.record import write
from ootci.model.workspace import Shard, Workspace


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
