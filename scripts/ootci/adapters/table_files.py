"""Writing tables for other tools, to an SQLite file.

Rows are written as they come, so that memory does not grow with their number. The file is replaced as a whole.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from ootci.errors import HostFailure

Columns = Iterable[tuple[str, str]]
"""Names and SQLite types."""
Rows = Iterable[tuple[str, tuple[Any, ...]]]
"""Rows, each with the name of its table."""


def write_sqlite(path: Path, tables: Mapping[str, Columns], rows: Rows) -> dict[str, int]:
    """Write one SQLite file, times as text in UTC, and say how many rows each table has.

    Raises:
        HostFailure: the machine refuses to write.

    """
    counts = dict.fromkeys(tables, 0)
    with (
        _replacing(path) as temporary,
        _reporting_space(path, temporary),
        contextlib.closing(sqlite3.connect(temporary)) as connection,
    ):
        # On failure the whole file is discarded, so no journal is needed.
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        inserts = {}
        for name, columns in tables.items():
            typed = [f"{column} {kind}" for column, kind in columns]
            connection.execute(f"CREATE TABLE {name} ({', '.join(typed)})")
            inserts[name] = f"INSERT INTO {name} VALUES ({', '.join('?' * len(typed))})"  # noqa: S608 - names of ours
        for name, group in groupby(rows, key=itemgetter(0)):
            values = (tuple(map(_sqlite_value, row)) for _, row in group)
            counts[name] += connection.executemany(inserts[name], values).rowcount
        connection.commit()
    return counts


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A temporary file that replaces this one on success."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def _reporting_space(target: Path, temporary: Path) -> Iterator[None]:
    """Report a failure to write with the size of the tables so far and the free space.

    Raises:
        HostFailure: the machine refuses to write.

    """
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        written = temporary.stat().st_size if temporary.exists() else 0
        free = shutil.disk_usage(target.parent).free
        raise HostFailure(
            f"the tables cannot be written: {error}; they need more than {written:,} bytes, and {free:,} are free",
            where=str(target.absolute()),
            fix="make room, export less with --since or --device, or name a place on another disk",
        ) from error


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value
