"""``ootci judge``."""

from __future__ import annotations

import click

from ootci.cli.context import Folders, clock, folder_options, format_option
from ootci.cli.report import one_line, table
from ootci.history.store import History
from ootci.model.record import write
from ootci.stages.judge import judge


@click.command("judge", short_help="Derive every verdict.")
@format_option
@folder_options("devices", "work", "history")
def judge_command(output_format: str, folders: Folders) -> None:
    """Derive every device's verdict from the history; writes verdicts.json."""
    verdicts = judge(folders.registry(), History(folders.history), clock())
    write(verdicts, folders.workspace.verdicts)
    if output_format == "json":
        click.echo(verdicts.to_json(), nl=False)
    elif output_format == "markdown":
        rows = [(item.device, item.verdict.value, item.reason) for item in verdicts.devices]
        click.echo(f"{table(('device', 'verdict', 'reason'), rows, output_format)}\n\n{verdicts.summary}")
    else:
        for item in verdicts.devices:
            click.echo(f"{item.device}: {item.verdict.value}: {one_line(item.reason)}")
        click.echo(verdicts.summary)
