"""A data branch of a real bare repository, and what tests do with it."""

from __future__ import annotations

from pathlib import Path

from repositories import git

from ootci.adapters.data_branch import DataBranch


def data_branch(tmp_path: Path, name: str, remote: Path, branch: str = "data") -> DataBranch:
    return DataBranch(tmp_path / name, str(remote), branch, unfinished=".unfinished", wait=lambda _: None)


def put(branch: DataBranch, name: str, text: str = "x") -> None:
    path = branch.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def files(remote: Path) -> list[str]:
    return git(remote, "ls-tree", "-r", "--name-only", "data").splitlines()
