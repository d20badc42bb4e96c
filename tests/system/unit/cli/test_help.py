"""What ``--help`` prints, of every command."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from ootci.cli.main import cli


def _commands(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands(inner, click.Context(inner, info_name=name, parent=context))


HELP = dict(_commands(cli, click.Context(cli, info_name="ootci")))


@pytest.mark.parametrize("path", sorted(HELP))
def test_help_is_text_for_people(path: str) -> None:
    assert "\\" not in HELP[path]
    assert "\b" not in HELP[path]
    assert max(map(len, HELP[path].splitlines())) <= 100


def test_examples_keep_their_lines() -> None:
    assert "\n  ootci history export history.sqlite\n" in HELP["ootci history export"]
    assert "\n    DEVICE@latest             its newest nightly\n" in HELP["ootci diff"]
