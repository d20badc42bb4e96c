"""What the search of every page looks through: devices, error texts, and tests that were ever not passing."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

LIMIT = 1_000_000
"""Bytes of the index; what is beyond is counted."""


@dataclass(frozen=True)
class Entry:
    """One thing that can be found.

    Attributes:
        kind: `device`, `error` or `test`.
        text: what is searched and shown; hostile.
        path: the page that shows it, from the top.

    """

    kind: str
    text: str
    path: str


def search_index(entries: Iterable[Entry], more: int = 0) -> bytes:
    """The script that brings the index, so that it works from `file://`, too; the first entries are kept.

    Args:
        more: how many there are besides, which have no page.

    """
    lines: list[str] = []
    size = 0
    for entry in entries:
        # ASCII only, so that no character ends a line of a script.
        line = json.dumps((entry.kind, entry.text, entry.path), separators=(",", ":"))
        size += len(line) + 2
        if size > LIMIT:
            more += 1
        else:
            lines.append(line)
    body = ",\n".join(lines)
    return f"globalThis.searchIndex = {{ more: {more}, entries: [\n{body}\n] }};\n".encode("ascii")
