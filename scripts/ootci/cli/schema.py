"""``ootci schema``."""

from __future__ import annotations

import click

from ootci.model.schema import schemas


@click.command(short_help="Print the schema of a file.")
@click.argument("file", type=click.Choice(list(schemas()), case_sensitive=True))
def schema(file: str) -> None:
    """Print the JSON schema (draft-07) of a FILE in which the stages meet, or of what `ootci diff` prints."""
    click.echo(schemas()[file], nl=False)
