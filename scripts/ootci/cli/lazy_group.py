"""A group of commands that imports a command when it is called."""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import click


class LazyGroup(click.Group):
    """Imports only the command that is called: importing all of them takes longer than most of them run.

    Commands that are registered in another way are listed first.
    """

    def __init__(self, *, lazy: Mapping[str, str], **attributes: object) -> None:
        """Make the group.

        Args:
            lazy: ``module:function`` in this package by command name, in the order of ``--help``.
            attributes: those of :class:`click.Group`.

        """
        super().__init__(**attributes)  # type: ignore[arg-type]
        self.lazy = lazy

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return [*self.commands, *self.lazy]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported."""
        if cmd_name not in self.lazy:
            return self.commands.get(cmd_name)
        module, _, name = self.lazy[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(f"ootci.cli.{module}"), name)
        return command
