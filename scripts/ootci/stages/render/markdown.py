"""Markdown as GitHub shows it: foreign text is harmless in it, and it is never longer than its place takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from .status import Status
from .text import LINE_LIMIT, one_line

MARKS: Mapping[str, str] = MappingProxyType({"good": "✅", "bad": "❌", "warn": "⚠️", "off": "⚪"})
"""The symbol before a status's word, by its tone."""

_SPECIAL = re.compile(r"[\\`*_\[\]<>#!|~@&$]|:(?=//|[\w+-]+:)|(?<=www)\.", re.IGNORECASE)
"""What means something to markdown or HTML, and what GitHub makes links, mentions and emoji of."""
_RESERVE = 200
"""Bytes kept for the sentence about how much was cut."""


def safe(text: str, limit: int = LINE_LIMIT) -> str:
    """Text as itself: a character reference shows the character and has no meaning for markdown or HTML."""
    # Mentions are looked for after references have been resolved, so that only another character breaks them up.
    return _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", one_line(text, limit)).replace(
        "&#64;", "&#64;&#8203;"
    )


def to_paste(commands: Iterable[str]) -> tuple[str, ...]:
    """Commands to copy. GitHub makes no mentions of what is in this element, so its text is exact."""
    text = _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", "\n".join(commands)).replace("\n", "&#10;")
    what = "To reproduce it, in a checkout of the repository that has the device file:"
    return ("", what, "", f"<pre>{text}</pre>")


def marked(status: Status) -> str:
    """A status's mark and word."""
    return f"{MARKS[status.tone]} {status.word}"


class Sheet:
    """Markdown that grows line by line up to a size in bytes; ``foot`` is its end, however much is cut."""

    def __init__(self, limit: int, foot: str = "") -> None:
        self._foot = foot
        self._left = limit - len(foot.encode("utf-8")) - _RESERVE
        self._lines: list[str] = []

    def add(self, *lines: str) -> bool:
        """Add lines that belong together, all or, where they do not fit, none; whether they were added."""
        size = sum(len(line.encode("utf-8")) + 1 for line in lines)
        if size > self._left:
            return False
        self._left -= size
        self._lines += lines
        return True

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[str]], noun: str) -> None:
        """Add a table, and after it how many rows did not fit."""
        self.add(_row(headings), _row(["---"] * len(headings)))
        self.groups(([_row(cells)] for cells in rows), noun)

    def groups(self, groups: Iterable[Sequence[str]], noun: str, nouns: str | None = None) -> None:
        """Add groups of lines until one does not fit, and after them how many did not."""
        rest = iter(groups)
        left_out = next((1 for group in rest if not self.add(*group)), 0) + sum(1 for _ in rest)
        if left_out:
            # The reserve is for this sentence.
            count = f"{left_out:,} more {noun if left_out == 1 else nouns or noun + 's'}"
            self._lines += ["", f"{count} did not fit here."]

    def text(self) -> str:
        """All of it."""
        return "\n".join([*self._lines, self._foot]).rstrip("\n") + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
