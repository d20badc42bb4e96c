"""Text that leaves the process: made valid, and kept to a size."""

from __future__ import annotations

MAX_TEXT_BYTES = 64 * 1024
MAX_MESSAGE_CHARACTERS = 500


def valid(text: str) -> str:
    """Text without lone surrogates, which are no Unicode and which JSON readers refuse."""
    return text.encode("utf-8", "replace").decode("utf-8")


def capped(text: str, limit: int = MAX_TEXT_BYTES) -> str:
    """At most ``limit`` UTF-8 bytes: of a longer text the head, how much was cut, and the tail."""
    text = valid(text)
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    # The longest possible note is reserved, so that the result never exceeds the limit.
    room = max(limit - len(_note(len(text))), 0)
    # A character that the cut splits is dropped from both ends, and counted as cut.
    head = data[: room // 2].decode("utf-8", "ignore")
    tail = data[len(data) - (room - room // 2) :].decode("utf-8", "ignore")
    return f"{head}{_note(len(text) - len(head) - len(tail))}{tail}"


def first_line(text: str) -> str | None:
    """The first line that is not empty, cut to the length of a message; None when there is none."""
    for line in valid(text).splitlines():
        if line.strip():
            return line.strip()[:MAX_MESSAGE_CHARACTERS]
    return None


def _note(characters: int) -> str:
    return f"\n[... {characters} characters cut ...]\n"
