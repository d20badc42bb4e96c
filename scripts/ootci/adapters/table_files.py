"""Writing tables for other tools, to an SQLite file.

Rows are written as they come, so that memory does not grow with their number. The file is replaced as a whole.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import sqlite3
from collections.abc import Iterable, Mapping
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
        HostFailure: the machine refuses to write; with the size of the tables so far and the free space.

    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        counts = _write(temporary, tables, rows)
    except (sqlite3.Error, OSError) as error:
        written = temporary.stat().st_size if temporary.exists() else 0
        free = shutil.disk_usage(path.parent).free
        raise HostFailure(
            f"the tables cannot be written: {error}; they need more than {written:,} bytes, and {free:,} are free",
            where=str(path.absolute()),
            fix="make room, export less with --since or --device, or name a place on another disk",
        ) from error
    else:
        temporary.replace(path)
        return counts
    finally:
        temporary.unlink(missing_ok=True)


def _write(path: Path, tables: Mapping[str, Columns], rows: Rows) -> dict[str, int]:
    counts = dict.fromkeys(tables, 0)
    with contextlib.closing(sqlite3.connect(path)) as connection:
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


def _sqlite_value(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value
