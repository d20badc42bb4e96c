"""Text that leaves the process: made valid, and kept to a size."""

from __future__ import annotations

import re

MAX_TEXT_BYTES = 64 * 1024
MAX_MESSAGE_CHARACTERS = 500
_SAYS_NOTHING = re.compile(r"AssertionError: assert (not )?\w+$")
"""What pytest reports of an assertion about a call: the next line names the call."""
_BECAUSE = "The above exception was the direct cause of the following exception:"
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(: .*)?$")
"""The line of a traceback that names the exception; all others are indented."""


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


def summary(text: str) -> str | None:
    """The most telling line of an exception: its first, with the next where that one only announces it."""
    lines = [line.strip() for line in valid(text).splitlines() if line.strip()][:2]
    if len(lines) == 2 and (lines[0].endswith(":") or _SAYS_NOTHING.match(lines[0])):
        found = lines[1].removeprefix("+").strip()
        lines[0] += f" {found}" if lines[0].endswith(":") else f", {found}"
    return first_line(lines[0]) if lines else None


def last_words(text: str) -> str:
    """The last error of a program that failed: the exception of its last traceback, and what caused it.

    Without a traceback it is the program's last line.
    """
    causes = [found for part in valid(text).split(_BECAUSE) if (found := _raised(part)) is not None]
    if causes:
        cause = f" (because of {causes[0]})" if len(causes) > 1 else ""
        return f"{causes[-1][: MAX_MESSAGE_CHARACTERS // 2]}{cause}"[:MAX_MESSAGE_CHARACTERS]
    lines = [line.strip() for line in valid(text).splitlines() if line.strip()]
    return (lines[-1] if lines else "nothing")[:MAX_MESSAGE_CHARACTERS]


def _raised(text: str) -> str | None:
    """The exception of the last traceback in a text."""
    lines = [line.rstrip() for line in text.splitlines()]
    starts = [number for number, line in enumerate(lines) if line.startswith("Traceback (")]
    after = lines[starts[-1] + 1 :] if starts else []
    return next((line for line in after if _EXCEPTION.match(line)), None)


def _note(characters: int) -> str:
    return f"\n[... {characters} characters cut ...]\n"
