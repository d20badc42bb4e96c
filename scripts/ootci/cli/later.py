"""A group of commands that imports only the one that is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click


class Later(click.Group):
    """Imports a command when it is asked for. All of them took longer than most of them have to do.

    Commands that were added in another way are listed first.
    """

    def __init__(self, *, later: Mapping[str, str], **attributes: object) -> None:
        """Make the group.

        Args:
            later: the commands in the order in which they are listed: in which module of this package each is, and its
                name there.
            attributes: as click's.

        """
        super().__init__(**attributes)  # type: ignore[arg-type]
        self.later = later

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return [*self.commands, *self.later]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """One of them."""
        if cmd_name not in self.later:
            return self.commands.get(cmd_name)
        module, _, name = self.later[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"ootci.cli.{module}"), name)
        return command
