"""What every command shares: the folders, the clock, progress, and how errors reach people."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, TypeVar

import click

from ootci.adapters.terminal import Progress
from ootci.model.device import DEFAULT_FOLDER, RegisteredDevice, find_device, load_registry
from ootci.model.workspace import Workspace

F = TypeVar("F", bound=Callable[..., Any])


class InOrder(click.Group):
    """A group of commands that lists them in the order in which they were added, not by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order in which they were added."""
        return list(self.commands)


def clock() -> datetime:
    """The aware current time."""
    return datetime.now(timezone.utc)


def attempt_number() -> int:
    """Which attempt this is: GitHub counts re-runs in GITHUB_RUN_ATTEMPT, elsewhere it is the first."""
    text = os.environ.get("GITHUB_RUN_ATTEMPT", "1") if os.environ.get("GITHUB_ACTIONS") == "true" else "1"
    return int(text) if text.isdigit() and int(text) > 0 else 1


@dataclass(frozen=True)
class Folders:
    """Where things lie; every path absolute.

    Attributes:
        devices: the device files.
        work: the work folder.
        history: past runs.
        site: the dashboard.

    """

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

    def device(self, name: str) -> RegisteredDevice:
        """One registered device."""
        return find_device(self.registry(), name)


_DEFAULTS = {"devices": str(DEFAULT_FOLDER), "work": ".ootci", "history": "data", "site": "site"}
_HELP = {
    "devices": "Folder of the device files, or one device file.",
    "work": "Work folder, where the stages meet.",
    "history": "Folder of past runs.",
    "site": "Folder of the rendered dashboard.",
}


def folder_options(*names: str) -> Callable[[F], F]:
    """Options for the folders that a command uses; it is called with ``folders`` instead."""

    def decorate(command: F) -> F:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            chosen = {name: kwargs.pop(name, _DEFAULTS[name]) for name in _DEFAULTS}
            # Device files keep the path as it was given, because errors name it; the rest must survive a change of cwd.
            folders = Folders(
                devices=Path(chosen["devices"]),
                work=Path(chosen["work"]).resolve(),
                history=Path(chosen["history"]).resolve(),
                site=Path(chosen["site"]).resolve(),
            )
            return command(*args, folders=folders, **kwargs)

        wrapped.__name__, wrapped.__doc__ = command.__name__, command.__doc__
        wrapped.__click_params__ = getattr(command, "__click_params__", [])  # type: ignore[attr-defined]
        result: Any = wrapped
        for name in reversed(names):
            default = _DEFAULTS[name]
            # A workflow says once for all its steps whose device it tests.
            variable = "OOTCI_DEVICES" if name == "devices" else None
            option = click.option(
                f"--{name}", default=default, show_default=True, metavar="DIR", help=_HELP[name], envvar=variable
            )
            result = option(result)
        return result  # type: ignore[no-any-return]

    return decorate


format_option = click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How data is printed on stdout.",
)

exit_zero_option = click.option(
    "--exit-zero", is_flag=True, help="Exit 0 also when the device failed: the file that was written says so."
)


def progress() -> Progress:
    """Progress on stderr."""
    return Progress()
