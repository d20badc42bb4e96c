"""The page of every command, from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
from markdown_table import escaped, table

from ootci.cli.main import cli

_HEAD = """\
# Command line

`ootci` is in `.venv/bin` after any `make` command. Data goes to stdout, everything for people to stderr.

"""


def page() -> str:
    """The page's Markdown."""
    parts = [_HEAD, _body(cli, click.Context(cli, info_name="ootci"))]
    parts += [f"## {context.command_path}\n\n{_body(command, context)}" for command, context in commands()]
    return "\n".join(parts)


def commands() -> Iterator[tuple[click.Command, click.Context]]:
    """Every command and group below ``ootci``, in the order of its help."""
    yield from _below(cli, click.Context(cli, info_name="ootci"))


def _below(group: click.Group, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(context):
        command = _command(group, context, name)
        inner = click.Context(command, info_name=name, parent=context)
        if command.hidden:
            continue
        yield command, inner
        if isinstance(command, click.Group):
            yield from _below(command, inner)


def _command(group: click.Group, context: click.Context, name: str) -> click.Command:
    found = group.get_command(context, name)
    if found is None:
        raise LookupError(name)
    return found


def _body(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    parts = [f"```text\n{usage}\n```", _prose(command.help or "")]
    records = [record for item in command.get_params(context) if (record := item.get_help_record(context))]
    if records:
        parts.append(table(("Option", "What it does"), [(f"`{name}`", escaped(about)) for name, about in records]))
    if isinstance(command, click.Group):
        inner = [_command(command, context, name) for name in command.list_commands(context)]
        listed = [(f"`{item.name}`", escaped(item.get_short_help_str(200))) for item in inner]
        parts.append(table(("Command", "What it does"), listed))
    return "\n\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """Paragraphs of a help text; a block that keeps its lines, after click's sign for that, stays as it is."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    kept = [
        "```text\n" + part.partition("\b\n")[2] + "\n```" if "\b" in part else escaped(" ".join(part.split()))
        for part in paragraphs
    ]
    return "\n\n".join(kept)
