"""The data branch with a real bare repository: what is appended gets in, whoever else publishes at that moment."""

from __future__ import annotations

import base64
import os
import subprocess
import threading
from pathlib import Path

import pytest

from ootci.adapters import data_branch
from ootci.adapters.data_branch import DataBranch
from ootci.errors import EXIT_INFRASTRUCTURE, HistoryConflict, HistoryUnreachable, ToolMissing


@pytest.fixture(autouse=True)
def _git_of_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    folder = tmp_path / "remote.git"
    _git(tmp_path, "init", "-q", "--bare", "-b", "main", str(folder))
    return folder


def _git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _branch(tmp_path: Path, name: str, remote: Path) -> DataBranch:
    return DataBranch(tmp_path / name, str(remote), wait=lambda _: None)


def _put(branch: DataBranch, name: str, text: str = "x") -> None:
    path = branch.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _files(remote: Path) -> list[str]:
    return _git(remote, "ls-tree", "-r", "--name-only", "data").splitlines()


def test_the_first_publish_makes_the_branch(tmp_path: Path, remote: Path) -> None:
    one = _branch(tmp_path, "one", remote)
    assert not one.fetch()
    _put(one, "plans/a.json")
    assert one.publish("Nightly a")
    assert _files(remote) == ["plans/a.json"]
    assert _git(remote, "log", "--format=%s %ae", "data") == "Nightly a ootci@users.noreply.github.com"


def test_what_was_published_is_fetched(tmp_path: Path, remote: Path) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    _put(one, "a", "text")
    one.publish("a")
    assert two.fetch()
    assert (two.folder / "a").read_text(encoding="utf-8") == "text"
    _put(one, "b")
    one.publish("b")
    assert two.fetch()
    assert (two.folder / "b").exists()


def test_nothing_to_push_is_said(tmp_path: Path, remote: Path) -> None:
    one = _branch(tmp_path, "one", remote)
    assert not one.publish("nothing")
    _put(one, "a")
    assert one.publish("a")
    assert not one.publish("nothing new")
    two = _branch(tmp_path, "two", remote)
    two.fetch()
    assert not two.publish("nothing new")


def test_what_could_not_be_pushed_then_is_pushed_later(tmp_path: Path, remote: Path) -> None:
    one = _branch(tmp_path, "one", remote)
    one.fetch()
    _put(one, "a")
    away = remote.rename(tmp_path / "away.git")
    with pytest.raises(HistoryUnreachable) as caught:
        one.publish("a")
    assert caught.value.exit_code == EXIT_INFRASTRUCTURE
    assert (one.folder / "a").exists()
    away.rename(remote)
    assert one.publish("again")
    assert _files(remote) == ["a"]


@pytest.mark.parametrize("first", [True, False], ids=["first-publish", "branch-exists"])
def test_two_publishers_at_once_both_get_in(tmp_path: Path, remote: Path, first: bool) -> None:
    if not first:
        seed = _branch(tmp_path, "seed", remote)
        _put(seed, "format.json", "same")
        seed.publish("seed")
    branches = [_branch(tmp_path, name, remote) for name in ("one", "two", "three")]
    for branch in branches:
        branch.fetch()
        _put(branch, "format.json", "same")
        _put(branch, f"runs/{branch.folder.name}")
    start = threading.Barrier(len(branches))
    failures: list[BaseException] = []

    def publish(branch: DataBranch) -> None:
        start.wait()
        try:
            branch.publish(branch.folder.name)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=publish, args=(branch,)) for branch in branches]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert _files(remote) == ["format.json", "runs/one", "runs/three", "runs/two"]


def test_a_different_record_of_the_same_name_is_a_conflict_that_leaves_the_folder_usable(
    tmp_path: Path, remote: Path
) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    one.fetch()
    two.fetch()
    _put(one, "runs/dev/a.json", "theirs")
    _put(two, "runs/dev/a.json", "ours")
    one.publish("one")
    with pytest.raises(HistoryConflict) as caught:
        two.publish("two")
    assert "runs/dev/a.json" in caught.value.what
    assert (two.folder / "runs/dev/a.json").read_text(encoding="utf-8") == "ours"
    assert not (two.folder / ".git" / "rebase-merge").exists()
    assert _git(remote, "show", "data:runs/dev/a.json") == "theirs"


def test_a_branch_whose_name_only_ends_alike_is_another_one(tmp_path: Path, remote: Path) -> None:
    other = DataBranch(tmp_path / "other", str(remote), "feature/data", wait=lambda _: None)
    _put(other, "x")
    other.publish("x")
    assert not _branch(tmp_path, "one", remote).fetch()


def test_publishing_never_takes_the_repository_around_the_folder_for_its_own(tmp_path: Path, remote: Path) -> None:
    checkout = tmp_path / "checkout"
    _git(tmp_path, "init", "-q", str(checkout))
    (checkout / "source").write_text("ours", encoding="utf-8")
    branch = DataBranch(checkout / "data", str(remote), wait=lambda _: None)
    _put(branch, "plans/a.json")
    assert branch.publish("a")
    assert _files(remote) == ["plans/a.json"]
    assert _git(checkout, "status", "--porcelain") == "?? data/\n?? source"


def test_a_remote_that_does_not_answer_says_where_and_what_is_kept(tmp_path: Path) -> None:
    branch = DataBranch(tmp_path / "one", f"file://name:password@{tmp_path}/gone.git")
    with pytest.raises(HistoryUnreachable) as caught:
        branch.fetch()
    assert caught.value.where.startswith("branch data of ")
    assert "password" not in caught.value.where
    assert "what was appended is kept" in caught.value.fix


def test_a_machine_without_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="git"):
        DataBranch(tmp_path / "one", "x").fetch()


def test_the_token_is_on_no_command_line_and_goes_to_its_remote_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/arguments\nenv >> {tmp_path}/environment\n', encoding="utf-8"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret-t0ken")
    encoded = base64.b64encode(b"x-access-token:s3cret-t0ken").decode()

    DataBranch(tmp_path / "one", "https://github.com/o/r").fetch()
    arguments = (tmp_path / "arguments").read_text(encoding="utf-8")
    environment = (tmp_path / "environment").read_text(encoding="utf-8")
    assert "ls-remote" in arguments
    assert "s3cret" not in arguments
    assert encoded not in arguments
    assert f"GIT_CONFIG_VALUE_0=AUTHORIZATION: basic {encoded}" in environment
    assert "GIT_CONFIG_KEY_0=http.https://github.com/o/r.extraheader" in environment
    assert "GITHUB_TOKEN" not in environment

    (tmp_path / "environment").unlink()
    DataBranch(tmp_path / "two", str(tmp_path)).fetch()
    assert encoded not in (tmp_path / "environment").read_text(encoding="utf-8")


def test_git_never_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")
    assert data_branch._environment("x")["GIT_TERMINAL_PROMPT"] == "0"
