"""The event log: JSON lines that survive the death of the process, up to the line that was being written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path

TESTS_EACH = 10_000
"""Tests in one event: a few megabytes. PyTorch's own tests are a hundred thousand."""


def utc_now() -> datetime:
    """The aware current time."""
    return datetime.now(timezone.utc)


class EventLog:
    """Appends events to a file; without a path it does nothing.

    Each event is one ``write`` to a descriptor in append mode. Nothing is buffered in the process, so a crash right
    after an event does not lose it, and another process may append to the same file.
    """

    def __init__(self, path: Path | None, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = None if path is None else os.open(path, flags, 0o644)
        self._held: list[bytes] | None = None

    def hold(self) -> None:
        """Keep events back, until :meth:`release`; what is still held when the log is closed was never told."""
        self._held = []

    def release(self) -> None:
        """Append what was held, and hold nothing any more."""
        held, self._held = self._held, None
        if held and self._descriptor is not None:
            os.write(self._descriptor, b"".join(held))

    def write(self, event: str, **fields: object) -> None:
        """Append one event."""
        if self._descriptor is None:
            return
        time = self._clock().astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"event": event, "time": time, **fields}) + "\n"
        if self._held is not None:
            self._held.append(line.encode("ascii"))
        else:
            os.write(self._descriptor, line.encode("ascii"))

    def write_tests(self, event: str, tests: Sequence[Mapping[str, object]], **fields: object) -> None:
        """Append an event that lists tests, at least once: several, where one line would be too long to be read."""
        for first in range(0, max(1, len(tests)), TESTS_EACH):
            self.write(event, **fields, tests=list(tests[first : first + TESTS_EACH]))

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
