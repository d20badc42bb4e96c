"""Throughput and memory of a model's training, as the suite ``models`` measures them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ootci.model.record import compact_record

Rate = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


@compact_record
class Training:
    """How fast a device trains a small model, and the memory that it takes. For information: no verdict follows."""

    steps_per_second: Rate
    """Steps in a second."""
    times_the_cpu: Rate
    """How many times as many as the same machine's CPU in one thread."""
    peak_bytes: Annotated[int | None, Field(ge=0, le=10**15)] = None
    """The most memory of the device that was allocated at once; null where the device does not count it."""
