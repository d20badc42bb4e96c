"""Texts and ids of any length and content, made fit to keep: without what XML cannot hold, the middle cut out."""

from __future__ import annotations

import hashlib
import re

MAX_TEXT = 16_000
MAX_MESSAGE = 500
_CUT = re.compile(r"\n?\[(?:\.\.\. )?(\d{1,12}) characters cut(?: \.\.\.)?\]\n?")
"""The note of an earlier cut, by the suites' harness or by this module."""
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 does not allow (W3C, Extensible Markup Language 1.0, production 2)."""


def allowed(text: str) -> str:
    """A text without the characters that no XML may hold."""
    # Most texts are lines that can be printed, which is seen much faster than a pattern can look.
    if text.replace("\n", "").isprintable():
        return text
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


def excerpt(text: str | None, limit: int = MAX_TEXT) -> str | None:
    """Head and tail of a text, with how much was cut; None where there is nothing to read."""
    if text is None or not text.strip():
        return None
    if len(text) > limit:
        half = limit // 2
        middle = text[half:-half]
        missing = len(middle) + sum(int(note[1]) - len(note[0]) for note in _CUT.finditer(middle))
        text = f"{text[:half]}\n[{missing} characters cut]\n{text[-half:]}"
    return allowed(text).replace("\r\n", "\n").replace("\r", "\n")


def one_line(text: str | None) -> str | None:
    """A text in one line, capped; None where there is nothing to read."""
    return " ".join(allowed(text).split())[:MAX_MESSAGE] or None if text else None


MAX_ID = 1_000
_DIGEST = 16


def short_id(text: str) -> str:
    """An id of at most `MAX_ID` characters. What is cut is replaced by its checksum: two long ids stay two."""
    if len(text) <= MAX_ID:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{text[: MAX_ID - _DIGEST - 1]}~{digest}"
