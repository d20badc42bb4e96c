"""A data branch of a real bare repository, and what tests do with it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ootci.adapters.data_branch import DataBranch


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.com")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def data_branch(tmp_path: Path, name: str, remote: Path, branch: str = "data") -> DataBranch:
    return DataBranch(tmp_path / name, str(remote), branch, unfinished=".unfinished", wait=lambda _: None)


def put(branch: DataBranch, name: str, text: str = "x") -> None:
    path = branch.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files(remote: Path) -> list[str]:
    return git(remote, "ls-tree", "-r", "--name-only", "data").splitlines()
