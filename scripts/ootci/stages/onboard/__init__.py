"""onboard: what is looked at in a device file before the device is registered, and what a proposal changes."""

from __future__ import annotations

from .checks import CHECKS, Checked, check_file
from .online import PATIENCE_SECONDS, check_online

__all__ = ["CHECKS", "PATIENCE_SECONDS", "Checked", "check_file", "check_online"]
