"""The results of an operator on a device."""

from __future__ import annotations

from enum import Enum


class OperatorState(str, Enum):
    """The result of an operator, the worst first: of several tests the worst counts."""

    CRASH = "crash"
    TIMED_OUT = "timed_out"
    MISMATCH = "mismatch"
    ERROR = "error"
    NOT_RUN = "not_run"
    XPASSED = "xpassed"
    UNSUPPORTED = "unsupported"
    FALLBACK = "fallback"
    XFAILED = "xfailed"
    PASSED = "passed"
    """It equals the cpu, and the device does not count what runs there."""
    NATIVE = "native"
    CONTROL = "control"
    """The cpu itself is no reference."""
