"""Keeps files in a folder that plays GitHub's cache, by the rules of the real actions that the workflows rely on."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from urllib.parse import quote


def main(verb: str) -> None:
    """Save a file or a folder, or restore one."""
    folder = Path(os.environ["STUB_CACHE"])
    folder.mkdir(parents=True, exist_ok=True)
    key, target = os.environ["KEY"].strip(), Path(os.environ["TARGET"])
    entry = folder / quote(key, safe="")
    if verb == "save":
        # A key that is there is left as it is, and a path that is not there is not saved, each with a warning.
        if not entry.exists() and target.exists():
            _copy(target, entry)
        return
    wanted = [key, *os.environ["BEGINNINGS"].split()]
    newest_first = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns, reverse=True)
    found = [path for text in wanted for path in newest_first if path.name.startswith(quote(text, safe=""))]
    if found:
        target.parent.mkdir(parents=True, exist_ok=True)
        _copy(found[0], target)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copy(source, target)


if __name__ == "__main__":
    main(sys.argv[1])
