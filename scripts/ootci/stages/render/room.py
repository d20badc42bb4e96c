"""How much of a page a list may take, so that no run can make a page too heavy to open."""

from __future__ import annotations

from markupsafe import escape

ITEM_OVERHEAD = 80
"""About the bytes of markup around one item of a list."""

TEXTS = 70_000
"""Bytes for the texts of failures on one page."""
NAMES = 16_000
"""Bytes for the names of one section."""


class Room:
    """Bytes that are left; once something did not fit, nothing after it does, so that a list is cut at one place.

    Args:
        size: bytes of escaped text.

    """

    def __init__(self, size: int) -> None:
        self._left = size

    def takes(self, *texts: str | None, overhead: int = ITEM_OVERHEAD) -> bool:
        """Whether the texts fit; they are counted when they do."""
        size = overhead + sum(len(escape(text).encode("utf-8", "replace")) for text in texts if text)
        self._left = self._left - size if size <= self._left else 0
        return self._left > 0
