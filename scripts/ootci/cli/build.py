"""``ootci build``."""

from __future__ import annotations

import sys

import click

from ootci.adapters.folder_lock import locked
from ootci.cli.context import Folders, clock, exit_zero_option, folder_options, format_option, progress
from ootci.cli.report import stages_text
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE
from ootci.model.build import StageStatus
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.stages.build import build


@click.command("build", short_help="Make the environment and the plugin.")
@click.argument("device")
@exit_zero_option
@format_option
@folder_options("devices", "work")
def build_command(device: str, exit_zero: bool, output_format: str, folders: Folders) -> None:
    """Make DEVICE's environment with torch in it, and build its plugin; writes build.json."""
    workspace = folders.workspace
    plan = read(Plan, workspace.plan)
    item = folders.device(device)
    run = plan.run_of(device)
    with locked(folders.work):
        result = build(item, run, workspace, clock=clock, progress=progress())
    click.echo(stages_text(result.stages, output_format))
    fetch_failed = result.stages[0].status is not StageStatus.PASSED
    failed = any(stage.status is not StageStatus.PASSED for stage in result.stages)
    code = EXIT_INFRASTRUCTURE if fetch_failed else EXIT_DEVICE if failed else EXIT_FINE
    sys.exit(EXIT_FINE if exit_zero else code)
