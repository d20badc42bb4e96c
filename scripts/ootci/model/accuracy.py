"""The errors of a test's results, as the device's own suites measure them."""

from __future__ import annotations

import math
from typing import Annotated

from pydantic import Field

from ootci.model.record import compact_record

Error = Annotated[float, Field(ge=0)]


@compact_record
class Accuracy:
    """How far the results of a test are from the exact ones, in units in the last place (ulp) of their dtype.

    An error is null where an infinity or NaN was given for a number.
    """

    results: Annotated[int, Field(ge=1, le=10**15)]
    """Numbers that were measured."""
    device_largest: Error | None
    """The device's largest error."""
    device_typical: Error | None
    """The median of the device's errors."""
    cpu_largest: Error | None
    """The CPU's largest error, in the same dtype on the same samples."""
    cpu_typical: Error | None
    """The median of the CPU's errors."""

    @property
    def times_cpu(self) -> float:
        """How many times the CPU's largest error the device's is; half a unit, as of correct rounding, at least."""
        device, cpu = ulp(self.device_largest), ulp(self.cpu_largest)
        return 1.0 if device == cpu else device / max(cpu, 0.5)


def ulp(error: float | None) -> float:
    """An error as a number: infinite where an infinity or NaN was given for a number."""
    return math.inf if error is None else error
