"""Tables that other tools read: their columns, whatever file they end in."""

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
