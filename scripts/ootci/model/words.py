"""Numbers, durations and names as people read them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def duration(seconds: float) -> str:
    """Seconds for people: ``0.4 s``, ``12 s``, ``3 m 05 s``, ``2 h 07 m``."""
    if seconds < 9.95:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} m {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} m"


def many(count: int, one: str, more: str | None = None) -> str:
    """A number with its noun: ``1 night``, ``3 nights``, ``1,204 tests``."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def did_you_mean(name: str, known: Iterable[str], most: int = 1) -> str:
    """The beginning of a remedy: the nearest of the names that there are; empty where none is near."""
    near = difflib.get_close_matches(name, list(known), n=most)
    return f"did you mean {' or '.join(f'`{one}`' for one in near)}? " if near else ""
