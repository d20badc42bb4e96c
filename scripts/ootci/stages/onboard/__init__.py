"""onboard: what is looked at in a device file before the device is registered, and what a proposal changes."""

from __future__ import annotations

from .checks import CHECKS, Checked, check_file, require_no_link
from .dry_run import dry_run
from .online import PATIENCE_SECONDS, check_online
from .proposal import Proposed, proposed_devices

__all__ = [
    "CHECKS",
    "PATIENCE_SECONDS",
    "Checked",
    "Proposed",
    "check_file",
    "check_online",
    "dry_run",
    "proposed_devices",
    "require_no_link",
]
