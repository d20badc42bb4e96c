"""The data branch after a command was ended half-way, and while its past is squashed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from unit.adapters.branches import data_branch, files, git, put

from ootci.adapters.folder_lock import held
from ootci.adapters.process import Answer
from ootci.errors import Busy, HistoryConflict

pytestmark = pytest.mark.usefixtures("git_of_nobody")


@pytest.mark.parametrize("done", ["nothing", "a part", "all"])
def test_a_move_that_was_ended_is_finished_first(tmp_path: Path, remote: Path, done: str) -> None:
    one = data_branch(tmp_path, "one", remote)
    for name in ("a", "b"):
        put(one, "both", name)
        put(one, name)
        one.publish(name)
    (one.folder / ".unfinished").write_text(git(one.folder, "rev-parse", "HEAD"), encoding="ascii")
    if done != "all":
        git(one.folder, "update-ref", "HEAD", "HEAD^")
        (one.folder / "b").unlink()
        (one.folder / "both").write_text("a" if done == "nothing" else "", encoding="utf-8")
    (one.folder / ".git" / "index.lock").touch()
    assert not one.publish("again")
    assert {path.name for path in one.folder.iterdir()} == {".git", "a", "b", "both"}
    assert (one.folder / "both").read_text(encoding="utf-8") == "b"
    assert git(remote, "log", "--format=%s", "data").splitlines() == ["b", "a"]


def test_while_a_folder_is_moved_it_says_so(tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = data_branch(tmp_path, "one", remote), data_branch(tmp_path, "two", remote)
    for branch, name in ((one, "a"), (two, "b")):
        put(branch, name)
        if branch is one:
            branch.publish(name)
    git = two._git.must

    def ended(*arguments: str, **options: Mapping[str, str] | None) -> Answer:
        if arguments[0] == "reset":
            raise KeyboardInterrupt
        return git(*arguments, **options)

    monkeypatch.setattr(two._git, "must", ended)
    with pytest.raises(KeyboardInterrupt):
        two.publish("b")
    assert (two.folder / ".unfinished").exists()
    assert files(remote) == ["a", "b"]
    again = data_branch(tmp_path, "two", remote)
    assert again.fetch()
    assert {path.name for path in two.folder.iterdir()} == {".git", "a", "b"}


def test_what_a_killed_git_left_locked_is_unlocked_and_a_living_command_is_waited_for(
    tmp_path: Path, remote: Path
) -> None:
    one = data_branch(tmp_path, "one", remote)
    put(one, "a")
    one.publish("a")
    put(one, "b")
    for name in ("index.lock", "HEAD.lock", "refs/heads/data.lock", "shallow.lock"):
        (one.folder / ".git" / name).touch()
    with held(one.folder), pytest.raises(Busy):
        one.publish("b")
    assert one.publish("b")


def test_squashing_leaves_the_files_and_takes_the_past(tmp_path: Path, remote: Path) -> None:
    one, two = data_branch(tmp_path, "one", remote), data_branch(tmp_path, "two", remote)
    for number in range(3):
        put(one, "a", os.urandom(20_000).hex() + str(number))
        one.publish(f"night {number}")
        two.fetch()
    content = (one.folder / "a").read_text(encoding="utf-8")
    shrunk = two.squash("One commit")
    assert shrunk.commits == 3
    assert 0 < 2 * shrunk.after < shrunk.before
    assert git(remote, "log", "--format=%s", "data") == "One commit"
    assert git(remote, "show", "data:a") == content
    assert not two.publish("nothing")
    put(one, "b")
    assert one.publish("after")
    assert files(remote) == ["a", "b"]
    assert git(remote, "log", "--format=%s", "data").splitlines() == ["after", "One commit"]


def test_squashing_is_refused_where_something_would_be_lost(tmp_path: Path, remote: Path) -> None:
    one, two = data_branch(tmp_path, "one", remote), data_branch(tmp_path, "two", remote)
    with pytest.raises(HistoryConflict, match="no branch"):
        one.squash("x")
    put(one, "a")
    one.publish("a")
    two.fetch()
    put(two, "b")
    with pytest.raises(HistoryConflict, match="do not hold the same"):
        two.squash("uncommitted")
    two.publish("b")
    with pytest.raises(HistoryConflict, match="do not hold the same"):
        one.squash("behind")
    assert files(remote) == ["a", "b"]


def test_squashing_while_somebody_publishes_loses_nothing(
    tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = data_branch(tmp_path, "one", remote), data_branch(tmp_path, "two", remote)
    put(one, "a")
    one.publish("a")
    two.fetch()
    put(two, "b")
    measured = one._git.size_of

    def size_of(commit: str) -> tuple[int, int]:
        two.publish("b")
        return measured(commit)

    monkeypatch.setattr(one._git, "size_of", size_of)
    with pytest.raises(HistoryConflict, match="meanwhile"):
        one.squash("x")
    assert files(remote) == ["a", "b"]
