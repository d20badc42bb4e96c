"""Git as the data branch uses it: other people's settings, remotes that do not answer, and the token."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from repositories import git
from unit.adapters.branches import data_branch, files, put

from ootci.adapters import remote_git
from ootci.adapters.data_branch import DataBranch
from ootci.errors import HistoryUnreachable, ToolMissing

pytestmark = pytest.mark.usefixtures("git_of_nobody")


def test_a_branch_whose_name_only_ends_alike_is_another_one(tmp_path: Path, remote: Path) -> None:
    other = data_branch(tmp_path, "other", remote, "feature/data")
    put(other, "x")
    other.publish("x")
    assert not data_branch(tmp_path, "one", remote).fetch()


def test_publishing_never_takes_the_repository_around_the_folder_for_its_own(tmp_path: Path, remote: Path) -> None:
    checkout = tmp_path / "checkout"
    git(tmp_path, "init", "-q", str(checkout))
    (checkout / "source").write_text("ours", encoding="utf-8")
    branch = data_branch(checkout, "data", remote)
    put(branch, "plans/a.json")
    assert branch.publish("a")
    assert files(remote) == ["plans/a.json"]
    assert git(checkout, "status", "--porcelain") == "?? data/\n?? source"


def test_a_persons_settings_for_git_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one: DataBranch, two: DataBranch
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
    put(one, "a.gz", "one\r\ntwo\n")
    assert one.publish("a")
    two.fetch()
    assert (two.folder / "a.gz").read_bytes() == b"one\r\ntwo\n"


def test_a_remote_that_does_not_answer_says_where_and_what_is_kept(tmp_path: Path) -> None:
    with pytest.raises(HistoryUnreachable) as caught:
        data_branch(tmp_path, "one", Path(f"file://name:password@{tmp_path}/gone.git")).fetch()
    assert caught.value.where.startswith("branch data of ")
    assert "what was appended is kept" in caught.value.fix
    assert "password" not in remote_git.RemoteGit(tmp_path, "https://name:password@example.com/x", "data").place


def test_a_machine_without_git_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolMissing, match="git"):
        data_branch(tmp_path, "one", tmp_path).fetch()


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
    monkeypatch.setenv("GITHUB_TOKEN", "s3cret-t0ken\n")
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
