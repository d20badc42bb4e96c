"""Git repositories of tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run git as nobody in particular, without anybody's settings; gives what it printed."""
    identity = ("-c", "user.name=tests", "-c", "user.email=tests@example.invalid")
    return _run(folder, *identity, *arguments, GIT_CONFIG_GLOBAL=os.devnull).strip()


def _run(folder: Path, *arguments: str, **env: str) -> str:
    """Run git as if nothing around it, such as a hook that started the tests, had spoken of another repository."""
    clean = {key: value for key, value in os.environ.items() if not re.match("GIT_(?!EXEC_PATH)", key)}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**clean, **env}, check=True, capture_output=True, text=True
    )
    return done.stdout


def copy_checkout(source: Path, target: Path, *left_out: str) -> None:
    """Copy every file that git knows or would take in a checkout, and nothing that was built.

    Args:
        source: the checkout.
        target: where to.
        left_out: pathspecs of what is not copied.

    """
    listed = _run(source, "ls-files", "-co", "--exclude-standard", "-z", "--", ".", *left_out)
    for name in filter(None, listed.split("\0")):
        if (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)


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
