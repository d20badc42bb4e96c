"""Texts of any length, of which head and tail are kept together with how much was cut."""

from __future__ import annotations

import re

MAX_TEXT = 16_000
_CUT = re.compile(r"\[(?:\.\.\. )?(\d{1,12}) characters cut(?: \.\.\.)?\]")
"""What the suites' harness and the stage ``test`` put in the place of what they cut themselves."""


class Excerpt:
    """A text that is being read: however long it gets, a few times the limit is held at most.

    Args:
        limit: how many characters of it are shown.

    """

    __slots__ = ("_head", "_held", "_limit", "_missing", "_parts")

    def __init__(self, limit: int = MAX_TEXT) -> None:
        self._limit = limit
        self._parts: list[str] = []
        self._held = 0
        self._missing = 0
        self._head: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return not self._parts

    def add(self, text: str) -> None:
        """Append."""
        self._parts.append(text)
        self._held += len(text)
        if self._held > 4 * self._limit:
            self._cut(keep=self._limit)

    def shown(self) -> str | None:
        """The text, or its head and tail with how much was cut; None when there is nothing to read."""
        if self._head is None and self._held <= self._limit:
            text = "".join(self._parts)
            return text if text.strip() else None
        self._cut(keep=self._limit // 2)
        return f"{self._head}\n[{self._missing} characters cut]\n{self._parts[0]}"

    def _cut(self, keep: int) -> None:
        """Hold the head and the last characters only; what was cut before the text came here counts as well."""
        rest = "".join(self._parts)
        if self._head is None:
            self._head, rest = rest[: self._limit // 2], rest[self._limit // 2 :]
        gone = rest[:-keep]
        self._missing += len(gone) + sum(int(note[1]) - len(note[0]) for note in _CUT.finditer(gone))
        self._parts, self._held = [rest[len(gone) :]], min(keep, len(rest))


def excerpt(text: str | None, limit: int = MAX_TEXT) -> str | None:
    """Head and tail of a text, and how much was cut; None when there is nothing to read."""
    if text is None:
        return None
    whole = Excerpt(limit)
    whole.add(text)
    return whole.shown()
