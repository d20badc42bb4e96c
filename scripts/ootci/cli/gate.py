"""``ootci gate``."""

from __future__ import annotations

import sys

import click

from ootci.cli.context import Folders, folder_options, format_option
from ootci.errors import EXIT_DEVICE, EXIT_FINE
from ootci.model.record import read
from ootci.model.verdict import Verdicts


@click.command("gate", short_help="Say whether one may merge.")
@format_option
@folder_options("work")
def gate(output_format: str, folders: Folders) -> None:
    """Say whether one may merge: reads verdicts.json; exit code 1 when a gating device is not as expected."""
    decision = read(Verdicts, folders.workspace.verdicts).gate
    word = "yes" if decision.may_merge else "no"
    if output_format == "json":
        click.echo(decision.model_dump_json(indent=1))
    elif output_format == "markdown":
        click.echo(f"**May one merge? {word.capitalize()}**: {decision.reason}")
    else:
        click.echo(f"may one merge: {word} ({decision.reason})")
    sys.exit(EXIT_FINE if decision.may_merge else EXIT_DEVICE)
