"""Whether the machine is ready, checked before anything is fetched: a missing card must not cost an hour's build."""

from __future__ import annotations

import dataclasses
import shutil

from ootci.errors import ToolMissing
from ootci.model.device import Check
from ootci.model.workspace import Workspace

from .commands import Commands, StepFailed

MIN_FREE_GIB = 2.0
"""Less than that is not enough for torch and its download."""
GIB = 1 << 30


def machine_is_ready(check: Check, workspace: Workspace, commands: Commands) -> None:
    """Run the device file's check command, if there is one, and look at the disk.

    Raises:
        StepFailed: with what is missing. It is the machine's fault and not the plugin's.

    """
    free = shutil.disk_usage(workspace.path).free / GIB
    if free < MIN_FREE_GIB:
        raise StepFailed(f"the machine has {free:.1f} GiB free, a device's environment needs {MIN_FREE_GIB:.0f}")
    if check.command is not None:
        asking = dataclasses.replace(commands, timeout=float(check.timeout_seconds))
        try:
            asking.run("the machine is not ready: the check command failed", check.command, cwd=workspace.path)
        except ToolMissing as missing:
            raise StepFailed(
                f"the machine is not ready: {missing.what}; install the device's driver and tools here, or run it on a "
                "machine that has the card (`check.command` and `runner` in the device file)"
            ) from missing
