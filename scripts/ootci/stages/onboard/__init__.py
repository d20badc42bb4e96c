"""onboard: a first device file, the checks before a device is registered, and the changes of a proposal."""

from __future__ import annotations

from .checks import CHECKS, HOSTED, Checked, check_file, failed_by, require_no_link
from .dry_run import dry_run
from .first_file import Answers, FoundPlugin, Source, device_text, look_for_plugin
from .new_plugin import cpp_plugin, plugin_steps, python_plugin, write_plugin
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
    "cpp_plugin",
    "device_text",
    "dry_run",
    "failed_by",
    "look_for_plugin",
    "plugin_steps",
    "proposed_devices",
    "python_plugin",
    "require_no_link",
    "write_plugin",
]
