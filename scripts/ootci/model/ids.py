"""Ids of tests: of bounded length, and each once in a run."""

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


class Ids:
    """The ids that a run has so far. Two tests of one name stay two: neither may hide the other."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._last: dict[str, int] = {}

    def add(self, test_id: str) -> str:
        """Note an id; the second of its name gets the number 2, and so on, in the order in which they come."""
        if test_id not in self._seen:
            self._seen.add(test_id)
            return test_id
        number = self._last.get(test_id, 1)
        while (numbered := short_id(f"{test_id} #{number + 1}")) in self._seen:
            number += 1
        self._last[test_id] = number + 1
        self._seen.add(numbered)
        return numbered
