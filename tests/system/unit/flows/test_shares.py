"""``--shard``: a share has a folder of its own and is in nobody's way."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import build, register

from ootci.adapters.folder_lock import locked
from ootci.errors import BadOption, Busy
from ootci.flows.shares import locked_run, share_of, take_shares
from ootci.model.build import Build, StageStatus
from ootci.model.record import read, write
from ootci.model.workspace import RunFolder, Shard, Workspace

from commands import Tool  # isort: skip


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_a_share_has_a_folder_and_an_option_of_the_suites(workspace: Workspace) -> None:
    folder, options = share_of(workspace, "dev", "1/2")
    assert (folder, options) == (workspace.run("dev").shard(Shard(1, 2)), ("--shard=1/2",))


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


def _artifact(folder: Path, name: str, shard: Shard, *, passed: bool = True) -> RunFolder:
    """What a job uploads of its share."""
    share = RunFolder(folder / name).shard(shard)
    made = build()
    status = StageStatus.PASSED if passed else StageStatus.FAILED
    stages = tuple(item.model_copy(update={"status": status}) for item in made.stages)
    write(made.model_copy(update={"stages": stages, "compiler": name}), share.build)
    share.events.write_text(name, encoding="utf-8")
    (folder / name / "logs").mkdir(parents=True)
    (folder / name / "logs" / "build.log").write_text("built", encoding="utf-8")
    return share


def test_of_each_share_the_newest_attempt_is_taken(workspace: Workspace, tmp_path: Path) -> None:
    downloaded = tmp_path / "downloaded"
    for name, shard in (("1-of-2-1", Shard(1, 2)), ("2-of-2-9", Shard(2, 2)), ("2-of-2-10", Shard(2, 2))):
        _artifact(downloaded, f"share-dev={name}", shard)
    assert take_shares(downloaded, workspace, "dev") == (Shard(1, 2), Shard(2, 2))
    folder = workspace.run("dev")
    said = [folder.shard(shard).events.read_text(encoding="utf-8") for shard in folder.shards_found()]
    assert said == ["share-dev=1-of-2-1", "share-dev=2-of-2-10"]
    assert read(Build, folder.build).compiler == "share-dev=1-of-2-1"


def test_a_share_that_could_not_be_built_is_the_runs_build(workspace: Workspace, tmp_path: Path) -> None:
    for number in (1, 2, 3):
        _artifact(tmp_path / "d", f"share-dev={number}-of-3-1", Shard(number, 3), passed=number == 1)
    take_shares(tmp_path / "d", workspace, "dev")
    assert read(Build, workspace.run("dev").build).compiler == "share-dev=2-of-3-1"


def test_only_what_is_known_is_taken_from_a_share(workspace: Workspace, tmp_path: Path) -> None:
    downloaded = tmp_path / "downloaded"
    share = _artifact(downloaded, "share-dev=1-of-2-1", Shard(1, 2))
    (share.path / "run.json").write_text("{}", encoding="utf-8")
    (share.path / "env.json").symlink_to("/etc/hostname")
    # A job speaks for its own share only.
    RunFolder(downloaded / "share-dev=1-of-2-1").shard(Shard(2, 2)).path.mkdir()
    left = workspace.run("dev").path / "of-an-earlier-run"
    left.mkdir(parents=True)
    assert take_shares(downloaded, workspace, "dev") == (Shard(1, 2),)
    taken = workspace.run("dev").shard(Shard(1, 2)).path
    assert {path.name for path in taken.iterdir()} == {"build.json", "events.jsonl", "logs"}
    assert not left.exists()
    assert take_shares(tmp_path / "nothing", workspace, "dev") == ()
    assert not workspace.run("dev").build.exists()


def test_a_share_takes_along_how_it_was_built(workspace: Workspace) -> None:
    write(build(), workspace.run("dev").build)
    folder, _ = share_of(workspace, "dev", "2/2")
    assert read(Build, folder.build) == build()


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
    register(tmp_path)
    with locked_run(Workspace(tmp_path / ".ootci"), "dev"):
        ran = ootci(command, "dev", cwd=tmp_path)
    assert ran.code == 3
    assert "error HOST-003: another run of ootci uses this folder" in ran.err
