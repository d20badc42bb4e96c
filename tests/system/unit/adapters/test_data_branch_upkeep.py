"""The data branch after a command was ended half-way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from repositories import git
from unit.adapters.branches import data_branch, files, put

from ootci.adapters.data_branch import DataBranch
from ootci.adapters.folder_lock import held
from ootci.adapters.process import Answer
from ootci.errors import Busy

pytestmark = pytest.mark.usefixtures("git_of_nobody")


@pytest.mark.parametrize("done", ["nothing", "a part", "all"])
def test_a_move_that_was_ended_is_finished_first(remote: Path, done: str, one: DataBranch) -> None:
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


def test_while_a_folder_is_moved_it_says_so(
    tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch, one: DataBranch, two: DataBranch
) -> None:
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


def test_what_a_killed_git_left_locked_is_unlocked_and_a_living_command_is_waited_for(one: DataBranch) -> None:
    put(one, "a")
    one.publish("a")
    put(one, "b")
    for name in ("index.lock", "HEAD.lock", "refs/heads/data.lock", "shallow.lock"):
        (one.folder / ".git" / name).touch()
    with held(one.folder), pytest.raises(Busy):
        one.publish("b")
    assert one.publish("b")
