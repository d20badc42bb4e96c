"""A file of lines to which lines are only ever added."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def read_lines(path: Path) -> list[bytes]:
    """The whole lines of a file, oldest first; a missing file has none.

    What follows the last line break was being written when its writer was ended: it is not there yet, and never was
    for anybody.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    return content.split(b"\n")[:-1]


def add_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Add lines at the end, flushed to disk, after removing what an ended writer left of a line.

    A reader sees none, some or all of the new lines, but never a part of one.
    """
    text = b"".join(line + b"\n" for line in lines)
    if not text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        os.lseek(descriptor, _whole(descriptor), os.SEEK_SET)
        while text:
            text = text[os.write(descriptor, text) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _whole(descriptor: int) -> int:
    """Where the last whole line ends; the file is cut there."""
    size = os.fstat(descriptor).st_size
    end = size
    while end:
        start = max(0, end - 65536)
        found = os.pread(descriptor, end - start, start).rfind(b"\n")
        if found >= 0:
            end = start + found + 1
            break
        end = start
    if end != size:
        os.ftruncate(descriptor, end)
    return end
