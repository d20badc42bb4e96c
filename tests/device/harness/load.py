"""Work that keeps a device busy for a known while. Needs torch."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from harness.device import synchronize

BUSY_SECONDS = 0.3
"""Long against the milliseconds by which a loaded machine is late, short enough for many tests."""
MAX_SIZE = 4096
MAX_PRODUCTS = 500


class Load:
    """A chain of matrix products that takes the device about ``BUSY_SECONDS``, measured once.

    Each product needs the one before, so a device cannot spread them over its units.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        size, seconds = 128, 0.0
        while seconds < 0.005 and size < MAX_SIZE:
            size *= 2
            self._matrix = torch.full((size, size), 1.0 / size, device=device)
            self.products = 1
            self()  # the first call of a size may load or compile kernels
            seconds = self._seconds()
        while seconds < BUSY_SECONDS and self.products < MAX_PRODUCTS:
            self.products *= 2
            seconds = self._seconds()
        self.seconds = seconds

    def __call__(self) -> torch.Tensor:
        """Enqueue the work on the current stream; the result is all 1/n, a matrix that is its own square."""
        result = self._matrix
        for _ in range(self.products):
            result = result @ self._matrix
        return result

    def expected(self) -> torch.Tensor:
        """What the result has to be, on the cpu."""
        return torch.full(self._matrix.shape, 1.0 / self._matrix.shape[0])

    def _seconds(self) -> float:
        synchronize(self._matrix.device.type)
        start = time.monotonic()
        self()
        synchronize(self._matrix.device.type)
        return time.monotonic() - start


def told_done_too_early(
    enqueue: Callable[[], object], query: Callable[[], bool], wait: Callable[[], object]
) -> str | None:
    """Whether ``query`` reports work as done while waiting for it still takes a good part of its time.

    A device that runs everything at once may rightly answer "done"; one that defers work may not. Which one it is shows
    in where the time goes, so nothing is assumed of the device's speed.

    Returns:
        What was seen when the answer was false, else None.

    """
    start = time.monotonic()
    enqueue()
    done = query()
    asked = time.monotonic()
    wait()
    end = time.monotonic()
    if done and end - asked > 0.25 * (end - start):
        return f"query() was true, and then waiting took {end - asked:.3f} s of the work's {end - start:.3f} s"
    return None
