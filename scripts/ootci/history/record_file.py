"""Files of the history: one JSON object each, a key on a line, with a checksum; written whole and never changed."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import zlib
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from typing import Any

from ootci.errors import HistoryCorrupt, HostFailure

RESTORE = "restore the file from the data branch's git history"


def pack(record: Mapping[str, Any]) -> bytes:
    """The content of a record's file: same record, same bytes."""
    lines = [f"{json.dumps(key)}:{json.dumps(value, separators=(',', ':'))}" for key, value in record.items()]
    body = ",\n".join(lines).encode()
    return b'{%b,\n"crc":"%08x"}\n' % (body, zlib.crc32(body))


def unpack(content: bytes, where: Path) -> dict[str, Any]:
    """The record of a file's content.

    Raises:
        HistoryCorrupt: it is no such file, or its checksum is wrong.

    """
    body, _, end = content.removeprefix(b"{").rpartition(b',\n"crc":"')
    try:
        if end != b'%08x"}\n' % zlib.crc32(body):
            raise ValueError("the checksum is wrong")
        return dict(json.loads(b"{" + body + b"}"))
    except ValueError as error:
        raise HistoryCorrupt(f"the file cannot be read back: {error}", where=str(where), fix=RESTORE) from error


def load(path: Path) -> dict[str, Any]:
    """The record in a file.

    Raises:
        HistoryCorrupt: it cannot be read back.

    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise HistoryCorrupt(f"the file cannot be read: {error.strerror}", where=str(path), fix=RESTORE) from error
    return unpack(content, path)


def write_files(files: Mapping[Path, bytes]) -> None:
    """Write files, each of them atomically, and flush them to disk all together.

    Flushing one after the other costs a disk as much as flushing all at the end.
    """
    with contextlib.ExitStack() as opened:
        written: dict[Path, tuple[int, Path]] = {}
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
            opened.callback(temporary.unlink, missing_ok=True)
            # Not buffered: closing a file would try again to write what a full disk did not take.
            stream = opened.enter_context(temporary.open("wb", buffering=0))
            _write_all(stream, content, path)
            written[path] = stream.fileno(), temporary
        for path, (descriptor, temporary) in written.items():
            os.fsync(descriptor)
            temporary.replace(path)


def _write_all(stream: FileIO, content: bytes, path: Path) -> None:
    """Write to an unbuffered file, which may take less than all at once."""
    rest = memoryview(content)
    try:
        while rest:
            rest = rest[stream.write(rest) :]
    except OSError as error:
        raise HostFailure(
            f"the file cannot be written: {error.strerror}; it needs {len(content):,} bytes, and "
            f"{shutil.disk_usage(path.parent).free:,} are free",
            where=str(path),
            fix="make room, then repeat the command; what is there already stays as it is",
        ) from error
