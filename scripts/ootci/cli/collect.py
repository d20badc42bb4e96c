"""``ootci collect``."""

from __future__ import annotations

import click

from ootci.cli.context import Folders, attempt_number, clock, folder_options
from ootci.cli.share import locked_run
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.stages.collect import collect


@click.command("collect", short_help="Put one run together.")
@click.argument("device")
@folder_options("devices", "work")
def collect_command(device: str, folders: Folders) -> None:
    """Put together what the stages left behind for DEVICE; writes run.json."""
    workspace = folders.workspace
    item = folders.device(device)
    with locked_run(workspace, device):
        plan, folder = read(Plan, workspace.plan), workspace.run(device)
        run = collect(item.device, plan, folder, now=clock(), attempt=attempt_number())
    for report in run.suites:
        counts = report.counts
        text = f"{counts.pass_rate} executed tests passed, {counts.failures} failed"
        click.echo(f"{device} {report.suite}: {report.state.value}, {text}")
