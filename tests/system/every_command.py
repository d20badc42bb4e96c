"""Every command and group of the tool, by what is typed to call it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from ootci.cli.main import cli


def every_command(context: click.Context | None = None) -> Iterator[click.Context]:
    """The context of the command, and of all below it: its path is what is typed, and it has the command."""
    context = context or click.Context(cli, info_name="ootci")
    yield context
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            inner = context.command.get_command(context, name)
            assert inner is not None
            assert inner.name == name
            yield from every_command(click.Context(inner, info_name=name, parent=context))
