"""How much of a page a list may take, so that no run can make a page too heavy to open."""

from __future__ import annotations

from markupsafe import escape

ITEM_OVERHEAD = 80
"""About the bytes of markup around one item of a list."""

TEXTS = 64_000
"""Bytes for the texts of failures on one page."""
NAMES = 16_000
"""Bytes for the names of one section."""
WHOLE = 114_000
"""Bytes for all lists of a page together, whatever each of them may take. With its frame, a device's past nights and
what stands at its top, a page stays below 200 KiB."""


def _size(text: str) -> int:
    """Bytes of the text when it is escaped."""
    escaped = escape(text)
    return len(escaped) if escaped.isascii() else len(escaped.encode("utf-8", "replace"))


class Room:
    """Bytes that are left; once something did not fit, nothing after it does, so that a list is cut at one place.

    Args:
        size: bytes of escaped text.
        whole: the room of the page, of which this takes a part; what it leaves is for the sections after it.

    """

    def __init__(self, size: int, whole: Room | None = None) -> None:
        self._left = size
        self._whole = whole

    def part(self, size: int) -> Room:
        """The room of a section."""
        return Room(size, self)

    def takes(self, *texts: str | None, overhead: int = ITEM_OVERHEAD) -> bool:
        """Whether the texts fit; they are counted when they do."""
        size = overhead + sum(_size(text) for text in texts if text)
        fits = size < self._left and (self._whole is None or size < self._whole._left)
        self._left = self._left - size if fits else 0
        if fits and self._whole is not None:
            self._whole._left -= size
        return fits
