"""A data branch of a real bare repository, and what tests do with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from ootci.adapters.data_branch import DataBranch
from ootci.errors import HistoryConflict


def git(folder: Path, *arguments: str) -> str:
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


def data_branch(tmp_path: Path, name: str, remote: Path, branch: str = "data") -> DataBranch:
    return DataBranch(tmp_path / name, str(remote), branch, join=_join, unfinished=".unfinished", wait=lambda _: None)


def put(branch: DataBranch, name: str, text: str = "x") -> None:
    path = branch.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files(remote: Path) -> list[str]:
    return git(remote, "ls-tree", "-r", "--name-only", "data").splitlines()
