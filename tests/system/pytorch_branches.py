"""A repository with branches as PyTorch's: main, and a branch of nightlies that have a night in one commit each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from repositories import commit, git

MAIN = 5
"""Commits of main, of which nightlies were made of the first, the third and the last."""


@dataclass(frozen=True)
class Pytorch:
    """The address of the repository, the commits of main, and those of the nightlies."""

    address: str
    main: list[str]
    nightlies: list[str]


def pytorch_branches(folder: Path) -> Pytorch:
    """Make the repository below a folder; no commit of main leads to a nightly."""
    made = folder / "made"
    made.mkdir()
    git(made, "init", "--quiet", "--initial-branch=main")
    main = []
    for number in range(MAIN):
        (made / "file").write_text(str(number), encoding="utf-8")
        main.append(commit(made, f"change {number}"))
    nightlies: list[str] = []
    for day, source in enumerate((main[0], main[2], main[4]), 1):
        parents = [f"-p{nightlies[-1]}"] if nightlies else []
        message = f"2026-11-0{day} nightly release ({source})"
        nightlies.append(git(made, "commit-tree", *parents, "-m", message, f"{source}^{{tree}}"))
    git(made, "branch", "nightly", nightlies[-1])
    bare = folder / "pytorch.git"
    git(folder, "clone", "--quiet", "--bare", str(made), str(bare))
    # As GitHub allows it: any commit by its hash, and without the contents of files.
    git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(bare, "config", "uploadpack.allowFilter", "true")
    return Pytorch(bare.as_uri(), main, nightlies)
