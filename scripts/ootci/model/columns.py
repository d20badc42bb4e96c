"""Columns of the tables that other tools read, for every file format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum


class ColumnKind(str, Enum):
    """What a column holds; every column may be empty in a row."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    TIME = "time"
    """An aware time."""


Columns = Sequence[tuple[str, ColumnKind]]
"""Names and kinds, in order."""
Tables = Mapping[str, Columns]
"""Columns by the name of the table."""
