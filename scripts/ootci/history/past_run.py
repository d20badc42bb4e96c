"""A run of which no more is read than what tells it from others, until more is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from .stored import StoredRun


@dataclass(frozen=True)
class PastRun:
    """One attempt of a device on a nightly.

    Attributes:
        device: name of the device.
        plan_id: the nightly.
        attempt: 1 for the first attempt.
        id: identity of the run; attempts share it.
        started_at: when the first stage started.
        read: reads the whole of it.

    """

    device: str
    plan_id: str
    attempt: int
    id: str
    started_at: datetime
    read: Callable[[], StoredRun] = field(repr=False, compare=False)

    @cached_property
    def stored(self) -> StoredRun:
        """The run as the history keeps it, read when it is first asked for.

        Raises:
            HistoryCorrupt: it, or a line before it, cannot be read back.

        """
        return self.read()

    @property
    def age(self) -> tuple[datetime, str, int]:
        """What runs are sorted by, oldest first."""
        return self.started_at, self.plan_id, self.attempt
