"""Commits are counted with git, in repositories of every shape; what git cannot tell is not known."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from repositories import bare_repository, git

from ootci.adapters.remote_commits import RemoteCommits

LONG_AGO = 200
"""Days before the earlier commit, which is the last that the earlier build had."""


class Repository:
    """A bare repository, whose commits are made on given days, without a file in them."""

    def __init__(self, folder: Path) -> None:
        self.folder = bare_repository(folder)
        self.address = folder.as_uri()
        self._tree = git(self.folder, "hash-object", "-t", "tree", "-w", os.devnull)

    def commit(self, day: float, *parents: str) -> str:
        """Make a commit, to which the branch then leads."""
        when = f"tests <tests@example.invalid> {1_700_000_000 + int(day * 86_400)} +0000"
        above = "".join(f"parent {parent}\n" for parent in parents)
        said = f"tree {self._tree}\n{above}author {when}\ncommitter {when}\n\nday {day} after {len(parents)}\n"
        (self.folder / "new").write_text(said, encoding="utf-8")
        made = git(self.folder, "hash-object", "-t", "commit", "-w", "new")
        git(self.folder, "update-ref", "refs/heads/main", made)
        return made

    def row(self, *days: float, after: tuple[str, ...] = ()) -> str:
        """Make commits, each on the one before; gives the last."""
        for day in days:
            after = (self.commit(day, *after),)
        return after[0]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    made = Repository(tmp_path / "made.git")
    # As GitHub allows it.
    git(made.folder, "config", "uploadpack.allowFilter", "true")
    return made


def linear(made: Repository) -> tuple[str, str]:
    before = made.row(-LONG_AGO, -3, -2, 0)
    return before, made.row(0.1, 1, 5, after=(before,))


def older_branch(made: Repository) -> tuple[str, str]:
    """Three commits that are older than the earlier build, and came in by a merge after it."""
    fork = made.row(-LONG_AGO, -30)
    before, branch = made.row(-1, 0, after=(fork,)), made.row(-29, -20, -0.5, after=(fork,))
    return before, made.commit(1, before, branch)


def old_fork(made: Repository) -> tuple[str, str]:
    """A branch that began before everything that is fetched."""
    fork = made.row(-LONG_AGO, -LONG_AGO)
    before, branch = made.row(-1, 0, after=(fork,)), made.row(-LONG_AGO, -0.5, after=(fork,))
    return before, made.commit(1, before, branch)


def rewritten(made: Repository) -> tuple[str, str]:
    fork = made.row(-LONG_AGO, -2, -1)
    return made.row(0, after=(fork,)), made.row(0.5, 1, after=(fork,))


def backwards(made: Repository) -> tuple[str, str]:
    before = made.row(-9, -8)
    return made.row(0, after=(before,)), before


def forgotten(made: Repository) -> tuple[str, str]:
    """The earlier build's commit is there no more."""
    return "1" * 40, made.row(-1, 0)


@pytest.mark.parametrize(
    ("shape", "count"),
    [(linear, 3), (older_branch, 4), (old_fork, None), (rewritten, None), (backwards, None), (forgotten, None)],
)
@pytest.mark.parametrize("filters", ["true", "false"])
def test_the_commits_that_one_build_has_and_the_one_before_had_not(
    repository: Repository, shape: Callable[[Repository], tuple[str, str]], count: int | None, filters: str
) -> None:
    git(repository.folder, "config", "uploadpack.allowFilter", filters)
    before, after = shape(repository)
    with RemoteCommits(repository.address) as asked:
        assert asked.count(before, after) == count
    if count:
        assert git(repository.folder, "rev-list", "--count", f"{before}..{after}") == str(count)


@pytest.mark.parametrize("gone", ["server", "git"])
def test_without_an_answer_nothing_is_known(
    repository: Repository, gone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = linear(repository)
    if gone == "git":
        monkeypatch.setenv("PATH", str(tmp_path))
    address = "http://127.0.0.1:9/gone.git" if gone == "server" else repository.address
    with RemoteCommits(address) as asked:
        assert asked.subject(after) is None
        assert asked.count(before, after) is None


def test_the_subject_of_a_commit_is_told(repository: Repository) -> None:
    made = repository.row(-1, 0)
    with RemoteCommits(repository.address) as asked:
        assert asked.subject(made) == "day 0 after 1"
