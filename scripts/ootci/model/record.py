"""The base of every record, and reading and writing the files in which the stages meet."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, BinaryIO, ClassVar, TypeVar

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    FailFast,
    PlainSerializer,
    TypeAdapter,
    ValidationError,
)
from typing_extensions import dataclass_transform

from ootci.errors import StageFileInvalid, StageFileMissing, StageFileTooLarge, StageFileVersion


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading; a link, a pipe or a device is refused without being opened.

    Raises:
        OSError: it is none of ours to read, or cannot be read.

    """
    _require_plain(path, os.lstat(path).st_mode)
    # It may have been exchanged meanwhile: a link is not followed, and a pipe is not waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _require_plain(path, os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _require_plain(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no plain file", str(path))


MAX_BYTES = 128 * 1024 * 1024
"""The largest stage file that is read: a run.json of 20,000 tests has 7 MB, and a failing test adds 16 kB at most."""
MAX_VALUES = 4_000_000
"""Values of a stage file: a test has ten, and a run at most 250,000 tests."""
MAX_DEPTH = 32
_INNERMOST = re.compile(rb"\{[:,]*\}|\[,*\]")
_CHUNK = 1 << 20
_NO_STRUCTURE = bytes(set(range(256)) - set(b'"{}[]:,'))

FIRST_YEAR, LAST_YEAR = 1970, 2199
"""Times of runs are between these; only a hostile file has others, which cannot be calculated with safely."""


def utc_text(value: datetime) -> str:
    """An aware time as ISO 8601 in UTC with milliseconds, for example ``2026-11-21T04:10:00.000Z``."""
    return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _in_utc(value: datetime) -> datetime:
    try:
        utc = value.astimezone(timezone.utc)
    except OverflowError:
        utc = datetime.min.replace(tzinfo=timezone.utc)
    if not FIRST_YEAR <= utc.year <= LAST_YEAR:
        raise ValueError(f"the time is not between the years {FIRST_YEAR} and {LAST_YEAR}")
    return utc


Time = Annotated[AwareDatetime, AfterValidator(_in_utc), PlainSerializer(utc_text, return_type=str, when_used="json")]

_TIME: TypeAdapter[datetime] = TypeAdapter(Time)


def time_of(text: str) -> datetime:
    """The time that :func:`utc_text` wrote.

    Raises:
        ValueError: it is none.

    """
    return _TIME.validate_python(text)


T = TypeVar("T")
Rows = Annotated[tuple[T, ...], FailFast()]
"""As many as a file holds. The first that is wrong is enough: a hostile file may hold millions, each an error."""


class Record(BaseModel):
    """A frozen, closed record: unknown keys are errors, and so are numbers that JSON cannot hold."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,  # made ready when it is first used: a command uses a few of the records that it imports
    )


@dataclass_transform(frozen_default=True)
def compact_record(kind: type[T]) -> type[T]:
    """Make a class of attributes a record of which there are hundreds of thousands in one file.

    It is validated and written like any other where it is part of a record that is read and written, takes a third of
    the memory and a fifth of the time, and is not validated when it is made in Python. The type checker sees to it that
    nobody changes it: at run time that would make it as slow again.
    """
    made = dataclass(slots=True, unsafe_hash=True)(kind)
    made.__pydantic_config__ = Record.model_config  # type: ignore[attr-defined]
    return made


class StageFile(Record):
    """A record that is a file of its own, with a schema version.

    Raises:
        StageFileMissing, StageFileTooLarge, StageFileInvalid, StageFileVersion: from :func:`read`.

    """

    FILE: ClassVar[str]
    VERSION: ClassVar[int] = 1
    MAX_KEYS: ClassVar[int] = 1_000
    """Keys of one object of the file."""
    WRITTEN_BY: ClassVar[str]

    schema_version: int = 1
    """Version of this file's schema; a reader refuses versions newer than its own."""

    def to_json(self) -> str:
        """The canonical text: indented, keys in the model's order, a final newline. Same record, same bytes."""
        return self.model_dump_json(indent=1) + "\n"


S = TypeVar("S", bound=StageFile)


def read(kind: type[S], path: Path) -> S:
    """Read and validate one stage file.

    Raises:
        StageFileMissing: the file does not exist.
        StageFileTooLarge: it is larger than ``MAX_BYTES``.
        StageFileVersion: it was written by another version of the tool.
        StageFileInvalid: it does not follow the schema.

    """
    try:
        with open_plain(path) as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise StageFileMissing(
            f"{kind.FILE} cannot be read: {error.strerror}", where=str(path), fix=f"run `{kind.WRITTEN_BY}` first"
        ) from error
    if len(text) > MAX_BYTES:
        raise StageFileTooLarge(
            f"{kind.FILE} is larger than {MAX_BYTES >> 20} MiB",
            where=str(path),
            fix=f"look at who wrote it, and write it again with `{kind.WRITTEN_BY}`",
        )
    return parse(kind, text, where=str(path))


def parse(kind: type[S], text: bytes, *, where: str) -> S:
    """Validate the bytes of one stage file; ``where`` names their origin in errors (raised as by :func:`read`)."""
    _require_bounded(kind, text, where)
    try:
        record = kind.model_validate_json(text)
    except ValidationError as error:
        # Another version may have other keys.
        check_version(kind, _stated_version(kind, text), where=where)
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise StageFileInvalid(
            f"{kind.FILE} is not valid: {'.'.join(map(str, first['loc'])) or 'the file'}: {first['msg']}",
            where=where,
            fix=f"write it again with `{kind.WRITTEN_BY}`",
        ) from error
    check_version(kind, record.schema_version, where=where)
    return record


def _require_bounded(kind: type[StageFile], text: bytes, where: str) -> None:
    """Refuse what would fill the memory when it is parsed: each value costs some, and each unknown key an error.

    Nothing is parsed for it. Of the text only brackets, commas and colons outside of strings are looked at.
    """
    bare, what = _structure(text), None
    if bare.count(b",") + bare.count(b"{") + bare.count(b"[") > MAX_VALUES:
        what = f"it holds more than {MAX_VALUES:,} values"
    for _ in range(MAX_DEPTH):
        if b":," * kind.MAX_KEYS in bare:
            what = f"an object has more than {kind.MAX_KEYS:,} keys"
        outer = _INNERMOST.sub(b"", bare.replace(b"{}", b"").replace(b"[]", b""))
        if what is not None or outer == bare:
            break
        bare = outer
    else:
        what = f"it nests deeper than {MAX_DEPTH} levels"
    if what is not None:
        raise StageFileInvalid(
            f"{kind.FILE} is not valid: {what}", where=where, fix=f"write it again with `{kind.WRITTEN_BY}`"
        )


def _structure(text: bytes) -> bytes:
    """The brackets, commas and colons of JSON that are in no string."""
    bare = text.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _NO_STRUCTURE)
    found, inside = [], False
    for begin in range(0, len(bare), _CHUNK):
        parts = bare[begin : begin + _CHUNK].split(b'"')
        found.append(b"".join(parts[inside::2]))
        inside ^= len(parts) % 2 == 0
    return b"".join(found)


def _stated_version(kind: type[StageFile], text: bytes) -> int:
    """The schema version that a text states; the reader's own where it states none or is no JSON object."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return kind.VERSION
    version = found.get("schema_version") if isinstance(found, dict) else None
    return version if isinstance(version, int) else kind.VERSION


def check_version(kind: type[StageFile], version: int, *, where: str) -> None:
    """Refuse what another version of the tool wrote.

    Raises:
        StageFileVersion: the version is not this tool's.

    """
    if version > kind.VERSION:
        raise StageFileVersion(
            f"{kind.FILE} has schema version {version}; this tool reads up to {kind.VERSION}",
            where=where,
            fix="update ootci to the version that wrote the file",
        )
    if version < kind.VERSION:
        raise StageFileVersion(
            f"{kind.FILE} has schema version {version}; this tool reads version {kind.VERSION}",
            where=where,
            fix=f"write it again with `{kind.WRITTEN_BY}`",
        )


def write(record: StageFile, path: Path) -> None:
    """Write a stage file so that a reader sees the old or the new state, never a half."""
    # Bytes from the start: as text, a run of hundreds of thousands of tests would be in memory three times.
    text = TypeAdapter(type(record)).dump_json(record, indent=1)
    with open_atomic(path) as stream:
        stream.write(text)
        stream.write(b"\n")


def write_atomic(path: Path, content: bytes) -> None:
    """Write through a temporary file in the same folder, flushed to disk, then renamed."""
    with open_atomic(path) as stream:
        stream.write(content)


@contextlib.contextmanager
def open_atomic(path: Path) -> Iterator[BinaryIO]:
    """As :func:`write_atomic`, for what is written piece by piece; an error in between leaves the file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        # A disk that is full does not say of which file.
        error.filename = error.filename or str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)
