"""Git repositories of tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git as nobody in particular, without anybody's settings; gives what it printed."""
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@example.invalid")
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path, message: str = "a commit") -> str:
    """Make a folder a repository with everything in it committed to ``main``; gives the commit."""
    git(folder, "init", "--quiet", "--initial-branch=main")
    return commit(folder, message)


def commit(folder: Path, message: str = "a commit") -> str:
    """Commit everything in a folder; gives the commit."""
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", f"--message={message}")
    return git(folder, "rev-parse", "HEAD")


def bare_repository(folder: Path) -> Path:
    """An empty repository to which others push."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main")
    return folder


def pull_requests(folder: Path, *refs: str) -> str:
    """A repository with an empty commit under ``refs/pull/`` for each of ``refs``; gives its address."""
    bare, work = bare_repository(folder / "pytorch.git"), folder / "work"
    work.mkdir()
    repository(work)
    git(work, "push", "--quiet", str(bare), *(f"HEAD:refs/pull/{ref}" for ref in refs))
    return bare.as_uri()
