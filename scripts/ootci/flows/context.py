"""The context of every flow: the folders, the clock, and the job of GitHub Actions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from ootci.errors import BadOption
from ootci.model.device import (
    DEFAULT_FOLDER,
    RegisteredDevice,
    find_device,
    is_device_file,
    is_registry,
    load_device,
    load_registry,
)
from ootci.model.workspace import Workspace

CLOCKS = timedelta(hours=1)
"""How much the clocks of two machines may differ."""


@dataclass(frozen=True)
class Folders:
    """The folders of one call; all are absolute except that of the device files."""

    devices: Path
    work: Path
    history: Path
    site: Path

    @property
    def workspace(self) -> Workspace:
        """The work folder's layout."""
        return Workspace(self.work)

    def registry(self) -> tuple[RegisteredDevice, ...]:
        """Every registered device."""
        return load_registry(self.devices)

    def device(self, device: str) -> RegisteredDevice:
        """One device: a registered one by its name, any by its file."""
        return load_device(Path(device)) if is_device_file(device) else find_device(self.registry(), device)

    def among(self, devices: Sequence[str]) -> tuple[Folders, tuple[str, ...]]:
        """The folders for judging the chosen devices, and their names.

        A file in this repository's devices/ is judged with the whole registry; any other file alone.

        Args:
            devices: names of registered devices, or one device file.

        Raises:
            BadOption: a file and something else are chosen.

        """
        if not any(map(is_device_file, devices)):
            return self, tuple(devices)
        if len(devices) > 1:
            raise BadOption(
                "a device file is chosen alone", where=" ".join(devices), fix="name one file, or only names"
            )
        item = load_device(Path(devices[0]))
        is_beside = is_registry(item.path.parent)
        return replace(self, devices=DEFAULT_FOLDER if is_beside else item.path), (item.device.name,)


def clock() -> datetime:
    """The aware current time."""
    return datetime.now(timezone.utc)


def attempt_number() -> int:
    """Which attempt this is: GitHub counts re-runs in GITHUB_RUN_ATTEMPT, elsewhere it is the first."""
    text = os.environ.get("GITHUB_RUN_ATTEMPT", "1") if os.environ.get("GITHUB_ACTIONS") == "true" else "1"
    return int(text) if text.isdigit() and int(text) > 0 else 1


def run_url(run_id: str | None = None) -> str | None:
    """Page of this workflow run, or of another one of its repository; None where this is no workflow of GitHub's."""
    server, repository, number = (os.environ.get(f"GITHUB_{name}") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    number = run_id or number
    return f"{server}/{repository}/actions/runs/{number}" if server and repository and number else None
