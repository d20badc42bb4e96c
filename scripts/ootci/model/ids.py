"""Ids of tests, of bounded length."""

from __future__ import annotations

import hashlib

MAX_ID = 1_000
_DIGEST = 16


def short_id(text: str) -> str:
    """An id of at most `MAX_ID` characters. What is cut is replaced by its checksum: two long ids stay two."""
    if len(text) <= MAX_ID:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{text[: MAX_ID - _DIGEST - 1]}~{digest}"
