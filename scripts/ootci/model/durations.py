"""durations.json: how long each test took lately, so that shares of a run last about equally long; and one in words."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from ootci.model.record import StageFile

MAX_TESTS = 20_000
"""Of a device; a file that was made elsewhere cannot ask for more."""

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Durations(StageFile):
    """How long each test took lately."""

    FILE: ClassVar[str] = "durations.json"
    MAX_KEYS: ClassVar[int] = MAX_TESTS + 1
    WRITTEN_BY: ClassVar[str] = "ootci plan"

    devices: dict[str, Annotated[dict[str, Seconds], Field(max_length=MAX_TESTS)]]
    """Seconds by test id, by device; a test that was never measured is not there."""


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
