"""The data branch with a real bare repository: what is appended gets in, whoever else publishes at that moment."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from ootci.adapters import remote_git
from ootci.adapters.data_branch import PUSH_ATTEMPTS, DataBranch
from ootci.adapters.folder_lock import held
from ootci.adapters.process import Answer
from ootci.errors import EXIT_INFRASTRUCTURE, Busy, HistoryConflict, HistoryUnreachable, ToolMissing


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


def _join(into: Path, other: Path) -> None:
    """Takes the files that are not there; the real one, which knows what a history is, is tested with the commands."""
    for path in sorted(other.rglob("*")):
        name = path.relative_to(other)
        if path.is_file() and name.parts[0] not in (".git", ".unfinished"):
            target = into / name
            if target.exists() and target.read_bytes() != path.read_bytes():
                raise HistoryConflict(f"`{name}` differs", where=str(target), fix="mend it")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def _branch(tmp_path: Path, name: str, remote: Path, branch: str = "data") -> DataBranch:
    return DataBranch(tmp_path / name, str(remote), branch, join=_join, unfinished=".unfinished", wait=lambda _: None)


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


def test_what_the_branch_has_no_longer_goes_from_a_folder_that_has_nothing_of_its_own(
    tmp_path: Path, remote: Path
) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    for name in ("a", "details/old"):
        _put(one, name)
    one.publish("a")
    two.fetch()
    (one.folder / "details/old").unlink()
    one.publish("gone")
    two.fetch()
    assert not (two.folder / "details/old").exists()
    assert not two.publish("nothing")


def test_nothing_to_push_is_said(tmp_path: Path, remote: Path) -> None:
    one = _branch(tmp_path, "one", remote)
    assert not one.publish("nothing")
    _put(one, "a")
    assert one.publish("a")
    assert not one.publish("nothing new")
    two = _branch(tmp_path, "two", remote)
    two.fetch()
    assert not two.publish("nothing new")


def test_what_was_being_written_is_never_published(tmp_path: Path, remote: Path) -> None:
    one = _branch(tmp_path, "one", remote)
    for name in ("a", ".a.1234.tmp", "details/.b.1234.tmp"):
        _put(one, name)
    one.publish("a")
    assert _files(remote) == ["a"]


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


def test_fetching_keeps_what_was_not_published(tmp_path: Path, remote: Path) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    for name in ("a", "b"):
        _put(one, name)
        one.publish(name)
        _put(two, f"own-{name}")
        assert two.fetch()
        assert {path.name for path in two.folder.iterdir()} >= {name, f"own-{name}"}
        assert two.fetch()
    assert _files(remote) == ["a", "b"]
    _put(two, "own-c")
    assert two.publish("own")
    assert _files(remote) == ["a", "b", "own-a", "own-b", "own-c"]


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
    for attempt in (lambda: two.publish("two"), two.fetch):
        with pytest.raises(HistoryConflict) as caught:
            attempt()
        assert caught.value.what == "`runs/dev/a.json` differs"
        assert caught.value.where == f"branch data of {remote}/runs/dev/a.json"
        assert (two.folder / "runs/dev/a.json").read_text(encoding="utf-8") == "ours"
    assert not (two.folder / ".git" / "ootci").exists()
    assert _git(remote, "show", "data:runs/dev/a.json") == "theirs"


@pytest.mark.parametrize("done", ["nothing", "a part", "all"])
def test_a_move_that_was_ended_is_finished_first(tmp_path: Path, remote: Path, done: str) -> None:
    one = _branch(tmp_path, "one", remote)
    for name in ("a", "b"):
        _put(one, "both", name)
        _put(one, name)
        one.publish(name)
    (one.folder / ".unfinished").write_text(_git(one.folder, "rev-parse", "HEAD"), encoding="ascii")
    if done != "all":
        _git(one.folder, "update-ref", "HEAD", "HEAD^")
        (one.folder / "b").unlink()
        (one.folder / "both").write_text("a" if done == "nothing" else "", encoding="utf-8")
    (one.folder / ".git" / "index.lock").touch()
    assert not one.publish("again")
    assert {path.name for path in one.folder.iterdir()} == {".git", "a", "b", "both"}
    assert (one.folder / "both").read_text(encoding="utf-8") == "b"
    assert _git(remote, "log", "--format=%s", "data").splitlines() == ["b", "a"]


def test_while_a_folder_is_moved_it_says_so(tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    for branch, name in ((one, "a"), (two, "b")):
        _put(branch, name)
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
    assert _files(remote) == ["a", "b"]
    again = _branch(tmp_path, "two", remote)
    assert again.fetch()
    assert {path.name for path in two.folder.iterdir()} == {".git", "a", "b"}


def test_what_a_killed_git_left_locked_is_unlocked_and_a_living_command_is_waited_for(
    tmp_path: Path, remote: Path
) -> None:
    one = _branch(tmp_path, "one", remote)
    _put(one, "a")
    one.publish("a")
    _put(one, "b")
    for name in ("index.lock", "HEAD.lock", "refs/heads/data.lock", "shallow.lock"):
        (one.folder / ".git" / name).touch()
    with held(one.folder), pytest.raises(Busy):
        one.publish("b")
    assert one.publish("b")


def test_squashing_leaves_the_files_and_takes_the_past(tmp_path: Path, remote: Path) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    for number in range(3):
        _put(one, "a", os.urandom(20_000).hex() + str(number))
        one.publish(f"night {number}")
        two.fetch()
    content = (one.folder / "a").read_text(encoding="utf-8")
    shrunk = two.squash("One commit")
    assert shrunk.commits == 3
    assert 0 < 2 * shrunk.after < shrunk.before
    assert _git(remote, "log", "--format=%s", "data") == "One commit"
    assert _git(remote, "show", "data:a") == content
    assert not two.publish("nothing")
    _put(one, "b")
    assert one.publish("after")
    assert _files(remote) == ["a", "b"]
    assert _git(remote, "log", "--format=%s", "data").splitlines() == ["after", "One commit"]


def test_squashing_is_refused_where_something_would_be_lost(tmp_path: Path, remote: Path) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    with pytest.raises(HistoryConflict, match="no branch"):
        one.squash("x")
    _put(one, "a")
    one.publish("a")
    two.fetch()
    _put(two, "b")
    with pytest.raises(HistoryConflict, match="do not hold the same"):
        two.squash("uncommitted")
    two.publish("b")
    with pytest.raises(HistoryConflict, match="do not hold the same"):
        one.squash("behind")
    assert _files(remote) == ["a", "b"]


def test_squashing_while_somebody_publishes_loses_nothing(
    tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    _put(one, "a")
    one.publish("a")
    two.fetch()
    _put(two, "b")
    measured = one._git.size_of

    def size_of(commit: str) -> tuple[int, int]:
        two.publish("b")
        return measured(commit)

    monkeypatch.setattr(one._git, "size_of", size_of)
    with pytest.raises(HistoryConflict, match="meanwhile"):
        one.squash("x")
    assert _files(remote) == ["a", "b"]


def test_who_never_gets_in_is_told_so_and_keeps_what_was_appended(
    tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    _put(one, "a")
    one.publish("a")
    _put(two, "own")
    pushed, count = two._git.push, 0

    def push(commit: str) -> Answer:
        nonlocal count
        count += 1
        _put(one, f"b{count}")
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


def test_a_branch_whose_name_only_ends_alike_is_another_one(tmp_path: Path, remote: Path) -> None:
    other = _branch(tmp_path, "other", remote, "feature/data")
    _put(other, "x")
    other.publish("x")
    assert not _branch(tmp_path, "one", remote).fetch()


def test_publishing_never_takes_the_repository_around_the_folder_for_its_own(tmp_path: Path, remote: Path) -> None:
    checkout = tmp_path / "checkout"
    _git(tmp_path, "init", "-q", str(checkout))
    (checkout / "source").write_text("ours", encoding="utf-8")
    branch = _branch(checkout, "data", remote)
    _put(branch, "plans/a.json")
    assert branch.publish("a")
    assert _files(remote) == ["plans/a.json"]
    assert _git(checkout, "status", "--porcelain") == "?? data/\n?? source"


def test_a_persons_settings_for_git_change_nothing(
    tmp_path: Path, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-commit", "pre-push", "post-checkout"):
        (hooks / name).write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    (tmp_path / "ignored").write_text("*.gz\n", encoding="utf-8")
    settings = (
        f"[core]\n hooksPath={hooks}\n excludesFile={tmp_path}/ignored\n autocrlf=true\n[commit]\n gpgSign=true\n"
    )
    (tmp_path / "config").write_text(settings, encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    one, two = _branch(tmp_path, "one", remote), _branch(tmp_path, "two", remote)
    _put(one, "a.gz", "one\r\ntwo\n")
    assert one.publish("a")
    two.fetch()
    assert (two.folder / "a.gz").read_bytes() == b"one\r\ntwo\n"


def test_a_remote_that_does_not_answer_says_where_and_what_is_kept(tmp_path: Path) -> None:
    with pytest.raises(HistoryUnreachable) as caught:
        _branch(tmp_path, "one", Path(f"file://name:password@{tmp_path}/gone.git")).fetch()
    assert caught.value.where.startswith("branch data of ")
    assert "what was appended is kept" in caught.value.fix
    assert "password" not in remote_git.RemoteGit(tmp_path, "https://name:password@example.com/x", "data").place


def test_a_machine_without_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="git"):
        _branch(tmp_path, "one", tmp_path).fetch()


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

    remote_git.RemoteGit(tmp_path, "https://github.com/o/r", "data").fetch_tip()
    arguments = (tmp_path / "arguments").read_text(encoding="utf-8")
    environment = (tmp_path / "environment").read_text(encoding="utf-8")
    assert "ls-remote" in arguments
    assert "s3cret" not in arguments
    assert encoded not in arguments
    assert f"GIT_CONFIG_VALUE_0=AUTHORIZATION: basic {encoded}" in environment
    assert "GIT_CONFIG_KEY_0=http.https://github.com/o/r.extraheader" in environment
    assert "GITHUB_TOKEN" not in environment

    (tmp_path / "environment").unlink()
    remote_git.RemoteGit(tmp_path, str(tmp_path), "data").fetch_tip()
    assert encoded not in (tmp_path / "environment").read_text(encoding="utf-8")


def test_git_never_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")
    assert remote_git._environment("x")["GIT_TERMINAL_PROMPT"] == "0"
