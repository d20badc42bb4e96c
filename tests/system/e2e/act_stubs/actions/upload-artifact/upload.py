"""Copies what an artifact is to hold into the folder that plays the artifact store."""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from pathlib import Path


def files_below(path: Path, *, hidden: bool) -> list[Path]:
    """Every regular file at or below a path."""
    found = [path] if path.is_file() else [item for item in path.rglob("*") if item.is_file()]
    return [item for item in found if hidden or not any(part.startswith(".") for part in item.parts)]


def searched(pattern: str) -> Path:
    """The folder in which a pattern is looked for, or the path itself where it has no wildcard."""
    plain = itertools.takewhile(lambda part: "*" not in part, Path(pattern).parts)
    return Path(*plain)


def main() -> None:
    """Upload, by the rules of the real action that the workflows rely on."""
    name = os.environ["NAME"]
    artifact = Path(os.environ["STUB_STORE"]) / "artifacts" / name
    patterns = [line.strip() for line in os.environ["PATHS"].splitlines() if line.strip()]
    listed = [searched(pattern) for pattern in patterns]
    hidden = os.environ["HIDDEN"] == "true"
    found = [item for pattern in patterns for path in Path().glob(pattern) for item in files_below(path, hidden=hidden)]
    if not found:
        if os.environ["NONE_FOUND"] == "error":
            sys.exit(f"no files were found at {patterns} below {Path.cwd()}")
        return
    # With several paths the artifact's root is their least common ancestor, whether each exists or not.
    root = Path(os.path.commonpath(listed)) if len(listed) > 1 else listed[0]
    root = root if root.is_dir() else root.parent
    try:
        artifact.mkdir(parents=True)
    except FileExistsError:
        sys.exit(f"an artifact named {name} exists already in this run")
    for item in found:
        target = artifact / item.relative_to(root)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(item, target)


if __name__ == "__main__":
    main()
