"""Fetching PyTorch's own tests: one folder of one commit, once; proven on a repository of the same shape."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repositories import commit, git

from ootci.adapters.progress import Progress
from ootci.model.workspace import Workspace
from ootci.stages.build.commands import Commands, StepFailed
from ootci.stages.build.fetch import fetch_upstream


@pytest.fixture
def pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str]]:
    """A bare repository with two commits, named as PyTorch's, and the commits."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    made = tmp_path / "made"
    made.mkdir()
    git(made, "init", "--quiet")
    commits = []
    for text in ("first", "second"):
        for name in ("setup.py", "test/test_things.py", "test/sub/test_more.py", "aten/src/large.cpp"):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(f"# {text} {name}\n", encoding="utf-8")
        commits.append(commit(made, text))
    bare = tmp_path / "pytorch.git"
    git(tmp_path, "clone", "--quiet", "--bare", str(made), str(bare))
    # As GitHub allows it: any commit by its hash, and without the contents of files.
    git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(bare, "config", "uploadpack.allowFilter", "true")
    monkeypatch.setenv("OOTCI_PYTORCH_GIT", bare.as_uri())
    return bare, commits


@pytest.fixture
def commands(tmp_path: Path) -> Commands:
    """What runs git."""
    return Commands(tmp_path / "no-environment", {}, 60, Progress(quiet=True), tmp_path / "fetch.log")


def _files(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def test_one_folder_of_one_commit_is_fetched_once(
    pytorch: tuple[Path, list[str]], commands: Commands, tmp_path: Path
) -> None:
    bare, (first, _) = pytorch
    workspace = Workspace(tmp_path / "work")
    fetch_upstream(first, workspace, commands)
    checkout = workspace.upstream(first)
    assert _files(checkout) == {"setup.py", "test/test_things.py", "test/sub/test_more.py"}
    assert (checkout / "test" / "test_things.py").read_text(encoding="utf-8") == "# first test/test_things.py\n"
    assert git(checkout, "rev-parse", "HEAD") == first
    bare.rename(bare.with_name("gone"))
    fetch_upstream(first, workspace, commands)


def test_a_commit_that_is_not_there_is_told_and_leaves_nothing(
    pytorch: tuple[Path, list[str]], commands: Commands, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / "work")
    with pytest.raises(StepFailed) as failed:
        fetch_upstream("0" * 40, workspace, commands)
    assert failed.value.reason.startswith(f"PyTorch's tests of commit {'0' * 40} cannot be fetched: fatal: ")
    assert not workspace.upstream("0" * 40).exists()
    # What was left half-way is in nobody's way.
    (workspace.upstream(pytorch[1][1]).with_name(f"{pytorch[1][1]}.part") / "junk").mkdir(parents=True)
    fetch_upstream(pytorch[1][1], workspace, commands)
    assert "# second" in (workspace.upstream(pytorch[1][1]) / "test" / "test_things.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("commit", [None, "", "Unknown", "../../elsewhere", "--upload-pack=touch"])
def test_only_a_commit_is_fetched(commands: Commands, tmp_path: Path, commit: str | None) -> None:
    with pytest.raises(StepFailed, match="does not say its commit"):
        fetch_upstream(commit, Workspace(tmp_path / "work"), commands)
    assert not (tmp_path / "work").exists()
