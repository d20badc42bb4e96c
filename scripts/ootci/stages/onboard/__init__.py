"""onboard: a first device file, the checks before a device is registered, and the changes of a proposal."""

from __future__ import annotations

from .checks import CHECKS, HOSTED, Checked, check_file, failed_by, require_no_link
from .dry_run import dry_run
from .first_file import Answers, Source, device_text
from .installed_plugin import FoundPlugin, look_for_plugin
from .online import PATIENCE_SECONDS, check_online
from .proposal import Proposed, proposed_devices

__all__ = [
    "CHECKS",
    "HOSTED",
    "PATIENCE_SECONDS",
    "Answers",
    "Checked",
    "FoundPlugin",
    "Proposed",
    "Source",
    "check_file",
    "check_online",
    "device_text",
    "dry_run",
    "failed_by",
    "look_for_plugin",
    "proposed_devices",
    "require_no_link",
]
