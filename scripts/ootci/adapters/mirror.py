"""Copying a source tree into the work folder, so that building never writes into a checkout.

Unchanged files keep their time stamps, so that an incremental build in the copy stays incremental.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

MANIFEST = ".ootci-mirrored"


def mirror(source: Path, files: Iterable[Path], target: Path) -> None:
    """Make ``target`` hold these files of ``source``; what an earlier call copied and is gone now is removed.

    Files that were not mirrored, such as build products, stay.

    Raises:
        OSError: the machine refused.

    """
    names = sorted({path.relative_to(source).as_posix() for path in files if path.is_file()})
    manifest = target / MANIFEST
    before = manifest.read_text(encoding="utf-8").splitlines() if manifest.exists() else []
    for name in set(before) - set(names):
        (target / name).unlink(missing_ok=True)
    for name in names:
        old, new = source / name, target / name
        if not _same(old, new):
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(old, new)
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _same(old: Path, new: Path) -> bool:
    if not new.exists():
        return False
    a, b = old.stat(), new.stat()
    return a.st_size == b.st_size and a.st_mtime_ns == b.st_mtime_ns
