"""How many of PyTorch's own tests pass on a device."""

from __future__ import annotations

from ootci.model.record import Record


class Parity(Record):
    """PyTorch's own tests on a device, of one night. ``passed`` and the tests that fail are parts of ``asked``."""

    asked: int
    """Tests that were collected and that PyTorch itself does not leave out on this device."""
    passed: int
    """Passed, or failed as PyTorch expects."""
    regressed: int
    """Fail, and passed on three of five nights at some time."""
    sometimes: int
    """Fail, and passed on some night."""
    not_yet: int
    """Fail, and never passed: not yet supported."""
    left_out: int
    """Left out by PyTorch itself on this device, and not in `asked`."""

    @property
    def others(self) -> int:
        """Tests that neither passed nor failed: they are unsupported, did not run or passed against expectation."""
        return self.asked - self.passed - self.regressed - self.sometimes - self.not_yet

    @property
    def share(self) -> str:
        """Which part of them passed, rounded down: ``61.2 %``; 100 % is said of all of them only."""
        tenths = 1000 * self.passed // self.asked if self.asked else 0
        return f"{tenths // 10}.{tenths % 10} %" if tenths < 1000 else "100 %"
