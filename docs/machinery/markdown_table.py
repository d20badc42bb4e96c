"""Tables of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; what would end a cell is escaped.

    Args:
        headings: one for each column.
        rows: cells, which may hold Markdown.

    """
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join("| " + " | ".join(_cell(cell) for cell in line) + " |\n" for line in lines)


def escaped(text: str) -> str:
    """Text of which nothing is Markdown but code in backticks."""
    parts = text.split("`")
    plain = (re.sub(r"([*_\[\]])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2])
    parts[::2] = plain
    return "`".join(parts)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
