"""``ootci explain``."""

from __future__ import annotations

import json

import click

from ootci import errors
from ootci.cli.context import format_option
from ootci.errors import OotciError


def _kinds() -> dict[str, type[OotciError]]:
    """Every error by its id."""
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OotciError)]
    return {kind.id: kind for kind in sorted((kind for kind in found if "id" in vars(kind)), key=lambda kind: kind.id)}


@click.command(short_help="Say what an error means.")
@click.argument("error", metavar="ID", type=click.Choice(list(_kinds()), case_sensitive=False))
@format_option
def explain(error: str, output_format: str) -> None:
    """Say what the error with an ID such as DEV-003 means, and what mends it."""
    kind = _kinds()[error]
    if output_format == "json":
        told = {"id": kind.id, "meaning": kind.meaning, "remedy": kind.remedy, "exit_code": kind.exit_code}
        click.echo(json.dumps(told, indent=1))
    elif output_format == "markdown":
        click.echo(f"### {kind.id}\n\n{kind.meaning}\n\n{kind.remedy}\n\nExit code {kind.exit_code}.")
    else:
        click.echo(f"{kind.id}: {kind.meaning}\n  what to do: {kind.remedy}\n  exit code: {kind.exit_code}")
