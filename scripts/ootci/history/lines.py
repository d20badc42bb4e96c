"""Files on disk: files of lines to which lines are only ever added, and files that are written whole."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Mapping, Sequence
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


def add_lines(additions: Mapping[Path, Sequence[bytes]]) -> None:
    """Add lines at the end of files, after removing what an ended writer left of a line, and flush them to disk.

    A reader sees none, some or all of the new lines, but never a part of one. All files are written before the first
    is flushed, because flushing one after the other costs a disk as much as flushing one.
    """
    with contextlib.ExitStack() as opened:
        descriptors = []
        for path, lines in additions.items():
            if lines:
                path.parent.mkdir(parents=True, exist_ok=True)
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
                opened.callback(os.close, descriptor)
                descriptors.append(descriptor)
                os.lseek(descriptor, _whole(descriptor), os.SEEK_SET)
                _write(descriptor, b"".join(line + b"\n" for line in lines))
        for descriptor in descriptors:
            os.fsync(descriptor)


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write files whole, each of them atomically, and flush them to disk all together."""
    with contextlib.ExitStack() as opened:
        written: dict[Path, tuple[int, Path]] = {}
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            opened.callback(temporary.unlink, missing_ok=True)
            opened.callback(os.close, descriptor)
            _write(descriptor, content)
            written[path] = descriptor, temporary
        for path, (descriptor, temporary) in written.items():
            os.fsync(descriptor)
            temporary.replace(path)


def _write(descriptor: int, text: bytes) -> None:
    while text:
        text = text[os.write(descriptor, text) :]


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
