"""``ootci judge``."""

from __future__ import annotations

import click

from ootci.cli.context import Folders, clock, folder_options
from ootci.cli.report import one_line
from ootci.history.store import History
from ootci.model.record import write
from ootci.stages.judge import judge


@click.command("judge", short_help="Derive every verdict.")
@folder_options("devices", "work", "history")
def judge_command(folders: Folders) -> None:
    """Derive every device's verdict from the history; writes verdicts.json."""
    verdicts = judge(folders.registry(), History(folders.history), clock())
    write(verdicts, folders.workspace.verdicts)
    for item in verdicts.devices:
        click.echo(f"{item.device}: {item.verdict.value}: {one_line(item.reason)}")
    click.echo(verdicts.summary)
