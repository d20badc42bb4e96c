"""The files of a history folder: where they are, whether a folder is a history at all, and what a file looks like.

A record's file is one JSON object, a key on a line, with a checksum; it is written whole and never changed.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import zlib
from collections.abc import Mapping
from datetime import datetime, timezone
from io import FileIO
from pathlib import Path
from typing import Any, NamedTuple

from ootci.errors import HistoryCorrupt, HostFailure

FORMAT = {"format": "ootci-history", "version": 3}
MONTH = "[0-9][0-9][0-9][0-9]-[0-9][0-9]"
PLAN = "plan.json"
WITHDRAWN = "withdrawn.json"
COMPAT = "compat.json"
EXPORTS = "exports.json"
NEEDS = "needs"
TESTS = "tests"
UNFINISHED = ".unfinished"
"""This file exists while a command moves the folder from one state of the data branch to another."""

_RUN = re.compile(r"(?P<device>.+)\.(?P<attempt>[1-9][0-9]*)(?:\.late)?\.json")
_SOURCE = re.compile(r"(?P<device>.+)\.(?P<attempt>[1-9][0-9]*)\.source\.json")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


class RunKey(NamedTuple):
    """The key in the name of a run's file."""

    plan_id: str
    device: str
    attempt: int


def is_name(text: str) -> bool:
    """Whether an id may be part of a path."""
    return _NAME.fullmatch(text) is not None


def format_file(folder: Path) -> Path:
    """The file that names the format's version."""
    return folder / "format.json"


def check_format(folder: Path) -> None:
    """Refuse a folder that is no history of this version; a folder without the file is an empty history.

    Raises:
        HistoryCorrupt: it is of another version, or another command was ended while it moved the folder.

    """
    try:
        found = json.loads(format_file(folder).read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = FORMAT
    except ValueError:
        found = None
    if found != FORMAT:
        raise HistoryCorrupt(
            "the folder holds a history of another format",
            where=str(format_file(folder)),
            fix="use the version of ootci that wrote it, or another folder with --history",
        )
    if (folder / UNFINISHED).exists():
        raise HistoryCorrupt(
            "the folder was left between two states of the data branch",
            where=str(folder / UNFINISHED),
            fix="let `ootci history fetch` or `publish` finish that; nothing is lost",
        )


def month_of(created_at: datetime) -> str:
    """The month in which a nightly was planned, in UTC."""
    return f"{created_at.astimezone(timezone.utc):%Y-%m}"


def nights_of(folder: Path) -> dict[str, Path]:
    """The folder of each nightly, by the plan's id, oldest month first."""
    return {path.parent.name: path.parent for path in sorted(folder.glob(f"{MONTH}/*/{PLAN}"))}


def is_withdrawn(night: Path) -> bool:
    """Whether a nightly was withdrawn; its folder stays as it was."""
    return (night / WITHDRAWN).exists()


def run_file(night: Path, device: str, attempt: int) -> Path:
    """The file of a run, in the folder of its nightly."""
    return night / f"{device}.{attempt}.json"


def late_file(night: Path, device: str, attempt: int) -> Path:
    """The file of a run whose report was late: it counts, and not what was reported in time."""
    return night / f"{device}.{attempt}.late.json"


def source_file(night: Path, device: str, attempt: int) -> Path:
    """Where what compiling a device's source predicted is: it may come after the other predictions of the nightly."""
    return night / f"{device}.{attempt}.source.json"


def sources_of(night: Path) -> list[tuple[str, Path]]:
    """The devices whose sources were compiled for a nightly, each with the files of its attempts, the newest last."""
    found = [(_SOURCE.fullmatch(path.name), path) for path in night.glob("*.source.json")]
    named = [(int(match["attempt"]), match["device"], path) for match, path in found if match]
    return [(device, path) for _, device, path in sorted(named)]


def runs_of(folder: Path) -> dict[RunKey, Path]:
    """The file of each run, by path."""
    runs = {}
    for path in sorted(folder.glob(f"{MONTH}/*/*.json")):
        found = _RUN.fullmatch(path.name)
        if found:
            # A late report comes after the one in time.
            runs[RunKey(path.parent.name, found["device"], int(found["attempt"]))] = path
    return runs


def tests_file(folder: Path, digest: str) -> Path:
    """The file of a list of tests."""
    return folder / TESTS / f"{digest}.json"


def needs_file(folder: Path, digest: str) -> Path:
    """The file of what a plugin's wheel needs of PyTorch."""
    return folder / NEEDS / f"{digest}.json"


def details_file(folder: Path, month: str, key: RunKey, kind: str) -> Path:
    """Details of a run of a nightly of that month; ``kind`` is ``texts`` or ``measures``."""
    return folder / "details" / month / f"{key.device}.{key.plan_id}.{key.attempt}.{kind}.json.gz"


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
