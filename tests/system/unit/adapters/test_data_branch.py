"""The data branch with a real bare repository: what is appended gets in, whoever else publishes at that moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from repositories import git
from unit.adapters.branches import files, put

from ootci.adapters.data_branch import PUSH_ATTEMPTS, DataBranch
from ootci.adapters.process import Answer
from ootci.errors import EXIT_INFRASTRUCTURE, HistoryConflict, HistoryUnreachable

pytestmark = pytest.mark.usefixtures("git_of_nobody")


def test_the_first_publish_makes_the_branch(remote: Path, one: DataBranch) -> None:
    assert not one.fetch()
    put(one, "plans/a.json")
    assert one.publish("Nightly a")
    assert files(remote) == ["plans/a.json"]
    assert git(remote, "log", "--format=%s %ae", "data") == "Nightly a ootci@users.noreply.github.com"


def test_what_was_published_is_fetched(one: DataBranch, two: DataBranch) -> None:
    put(one, "a", "text")
    one.publish("a")
    assert two.fetch()
    assert (two.folder / "a").read_text(encoding="utf-8") == "text"
    put(one, "b")
    one.publish("b")
    assert two.fetch()
    assert (two.folder / "b").exists()


def test_what_the_branch_has_no_longer_goes_from_a_folder_that_has_nothing_of_its_own(
    one: DataBranch, two: DataBranch
) -> None:
    for name in ("a", "details/old"):
        put(one, name)
    one.publish("a")
    two.fetch()
    (one.folder / "details/old").unlink()
    one.publish("gone")
    two.fetch()
    assert not (two.folder / "details/old").exists()
    assert not two.publish("nothing")


def test_what_was_removed_here_goes_from_the_branch_although_somebody_else_published(
    remote: Path, one: DataBranch, two: DataBranch
) -> None:
    for name in ("a", "details/old"):
        put(one, name)
    one.publish("a")
    two.fetch()
    (two.folder / "details/old").unlink()
    put(one, "b")
    one.publish("b")
    assert two.publish("gone")
    assert files(remote) == ["a", "b"]
    one.fetch()
    assert not (one.folder / "details/old").exists()


def test_nothing_to_push_is_said(one: DataBranch, two: DataBranch) -> None:
    assert not one.publish("nothing")
    put(one, "a")
    assert one.publish("a")
    assert not one.publish("nothing new")
    two.fetch()
    assert not two.publish("nothing new")


def test_what_was_being_written_is_never_published(remote: Path, one: DataBranch) -> None:
    for name in ("a", ".a.1234.tmp", "details/.b.1234.tmp"):
        put(one, name)
    one.publish("a")
    assert files(remote) == ["a"]


def test_what_could_not_be_pushed_then_is_pushed_later(tmp_path: Path, remote: Path, one: DataBranch) -> None:
    one.fetch()
    put(one, "a")
    away = remote.rename(tmp_path / "away.git")
    with pytest.raises(HistoryUnreachable) as caught:
        one.publish("a")
    assert caught.value.exit_code == EXIT_INFRASTRUCTURE
    assert (one.folder / "a").exists()
    away.rename(remote)
    assert one.publish("again")
    assert files(remote) == ["a"]


def test_fetching_keeps_what_was_not_published(remote: Path, one: DataBranch, two: DataBranch) -> None:
    for name in ("a", "b"):
        put(one, name)
        one.publish(name)
        put(two, f"own-{name}")
        assert two.fetch()
        assert {path.name for path in two.folder.iterdir()} >= {name, f"own-{name}"}
        assert two.fetch()
    assert files(remote) == ["a", "b"]
    put(two, "own-c")
    assert two.publish("own")
    assert files(remote) == ["a", "b", "own-a", "own-b", "own-c"]


def test_a_different_record_of_the_same_name_is_a_conflict_that_leaves_the_folder_usable(
    remote: Path, one: DataBranch, two: DataBranch
) -> None:
    one.fetch()
    two.fetch()
    put(one, "runs/dev/a.json", "theirs")
    put(two, "runs/dev/a.json", "ours")
    one.publish("one")
    for attempt in (lambda: two.publish("two"), two.fetch):
        with pytest.raises(HistoryConflict) as caught:
            attempt()
        assert caught.value.what == "a different file of the same name is already published"
        assert caught.value.where == f"branch data of {remote}/runs/dev/a.json"
        assert (two.folder / "runs/dev/a.json").read_text(encoding="utf-8") == "ours"
    assert git(remote, "show", "data:runs/dev/a.json") == "theirs"


def test_who_never_gets_in_is_told_so_and_keeps_what_was_appended(
    monkeypatch: pytest.MonkeyPatch, one: DataBranch, two: DataBranch
) -> None:
    put(one, "a")
    one.publish("a")
    put(two, "own")
    pushed, count = two._git.push, 0

    def push(commit: str) -> Answer:
        nonlocal count
        count += 1
        put(one, f"b{count}")
        one.publish("in between")
        return pushed(commit)

    monkeypatch.setattr(two._git, "push", push)
    with pytest.raises(HistoryUnreachable, match="failed to push some refs") as caught:
        two.publish("own")
    assert count == PUSH_ATTEMPTS
    assert "hint" not in caught.value.what
    assert (two.folder / "own").exists()
    monkeypatch.undo()
    assert two.publish("own")


def test_a_rule_that_keeps_pushes_out_is_named_after_one_attempt_and_nothing_is_lost(
    monkeypatch: pytest.MonkeyPatch, remote: Path, one: DataBranch
) -> None:
    rule = "error: GH013: Repository rule violations found for refs/heads/data."
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho '{rule}' >&2\necho '- Changes must be made by others.' >&2\nexit 1\n", "utf-8")
    hook.chmod(0o755)
    put(one, "own")
    monkeypatch.setattr(one, "wait", lambda _: pytest.fail("it is tried again"))
    with pytest.raises(HistoryUnreachable) as caught:
        one.publish("own")
    assert caught.value.what == f"git push failed: remote: {rule}"
    assert "no rule against it on the page Settings > Rules" in caught.value.fix
    hook.unlink()
    assert one.publish("own")
    assert files(remote) == ["own"]
