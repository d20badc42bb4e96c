"""durations.json: how long each test took lately, so that shares of a run last about equally long."""

from __future__ import annotations

from typing import ClassVar

from ootci.model.record import StageFile


class Durations(StageFile):
    """How long each test took lately."""

    FILE: ClassVar[str] = "durations.json"
    WRITTEN_BY: ClassVar[str] = "ootci plan"

    devices: dict[str, dict[str, float]]
    """Seconds by test id, by device; a test that was never measured is not there."""
