"""What git knows about a folder, fetching a plugin's repository, and the data branch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from ootci.adapters.process import ask


def commit_of(folder: Path) -> str | None:
    """The commit that a folder stands at, with ``-dirty`` for uncommitted changes below it; None outside git."""
    head = ask(["git", "rev-parse", "HEAD"], cwd=folder)
    if head is None or head.exit_code != 0:
        return None
    status = ask(["git", "status", "--porcelain", "--", "."], cwd=folder)
    dirty = status is None or status.exit_code != 0 or bool(status.out.strip())
    return head.out.strip() + ("-dirty" if dirty else "")


def source_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of a folder's files, build products that git ignores left out.

    Outside git every file counts. The same sources give the same digest wherever they lie.
    """
    listed = ask(["git", "ls-files", "-co", "--exclude-standard", "-z", "--", "."], cwd=folder)
    if listed is not None and listed.exit_code == 0 and listed.out:
        paths = [folder / name for name in listed.out.split("\0") if name]
    else:
        paths = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    digest = hashlib.sha256()
    for path in sorted(set(paths)):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            digest.update(f"{len(name)}:{name}:{path.stat().st_size}:".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def clone_command(url: str, ref: str, folder: Path, *, submodules: bool) -> list[list[str]]:
    """The commands that fetch one ref of a repository into an empty folder, to be run in that folder."""
    commands = [
        ["git", "init", "--quiet", "."],
        ["git", "fetch", "--quiet", "--depth=1", "--", url, ref],
        ["git", "checkout", "--quiet", "--detach", "FETCH_HEAD"],
    ]
    if submodules:
        commands.append(["git", "submodule", "update", "--quiet", "--init", "--recursive", "--depth=1"])
    return commands


def quiet_environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which git never waits for somebody to type a password."""
    return {**(os.environ if base is None else base), "GIT_TERMINAL_PROMPT": "0"}
