"""``ootci device schema``."""

from __future__ import annotations

import click

from ootci.model.schema import device_schema


@click.command()
def schema() -> None:
    """Print the JSON schema (draft-07) of a device file."""
    click.echo(device_schema(), nl=False)
