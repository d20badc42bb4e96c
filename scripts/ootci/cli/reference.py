"""``ootci schema``, ``device schema``, ``explain`` and ``completion``: what the tool says of itself."""

from __future__ import annotations

import click
from click.shell_completion import BashComplete, FishComplete, ZshComplete

from ootci import errors
from ootci.cli.options import format_option
from ootci.cli.show import show, show_text
from ootci.errors import OotciError
from ootci.model.schema import device_schema, schemas

SHELLS = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}


@click.command(short_help="Print the JSON schema of a file.")
@click.argument("file", type=click.Choice(list(schemas()), case_sensitive=True))
def schema(file: str) -> None:
    """Print the JSON schema (draft-07) of a FILE in which the stages meet, or of what `ootci diff` prints."""
    show_text(schemas()[file])


@click.command("schema")
def device_schema_command() -> None:
    """Print the JSON schema (draft-07) of a device file."""
    show_text(device_schema())


def _kinds() -> dict[str, type[OotciError]]:
    """Every error by its id."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OotciError)]
    return {kind.id: kind for kind in sorted((kind for kind in found if "id" in vars(kind)), key=lambda kind: kind.id)}


@click.command(short_help="Explain an error.")
@click.argument("error", metavar="ID", type=click.Choice(list(_kinds()), case_sensitive=False))
@format_option
def explain(error: str, output_format: str) -> None:
    """Explain the error with an ID such as DEV-003, and how to fix it."""
    kind = _kinds()[error]
    facts = {"id": kind.id, "meaning": kind.meaning, "remedy": kind.remedy, "exit_code": kind.exit_code}
    markdown_text = f"### {kind.id}\n\n{kind.meaning}\n\n{kind.remedy}\n\nExit code {kind.exit_code}."
    text = f"{kind.id}: {kind.meaning}\n  what to do: {kind.remedy}\n  exit code: {kind.exit_code}"
    show(facts, output_format, lambda markdown: markdown_text if markdown else text)


@click.command(short_help="Print a shell completion script.")
@click.argument("shell", type=click.Choice(list(SHELLS)))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script with which SHELL completes commands and options of ootci.

    \b
    bash   ootci completion bash > ~/.local/share/bash-completion/completions/ootci
    zsh    ootci completion zsh > "${fpath[1]}/_ootci"
    fish   ootci completion fish > ~/.config/fish/completions/ootci.fish
    """
    show_text(SHELLS[shell](context.find_root().command, {}, "ootci", "_OOTCI_COMPLETE").source())
