"""``ootci test``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ootci.adapters.progress import Progress
from ootci.cli.options import exit_zero_option, folder_options, format_option, suites_option
from ootci.cli.show import show_stages
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE
from ootci.flows.context import Folders, clock
from ootci.flows.shares import locked_run, share_of
from ootci.model.build import Build, StageName, StageStatus
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import read
from ootci.stages.test import suite_options, test


def _planned(plan: Path, device: str) -> PlannedRun | None:
    """What the nightly knows of the device; a run by hand may do without a plan."""
    if not plan.exists():
        return None
    return read(Plan, plan).expected(device)


@click.command("test", short_help="Run the suites on a device.")
@click.argument("device")
@exit_zero_option
@suites_option
@click.option("--shard", metavar="I/N", help="Run part I of N of the tests; `ootci collect` joins the parts.")
@format_option
@folder_options("devices", "work")
def test_command(
    device: str,
    exit_zero: bool,
    suites: Path,
    shard: str | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Run import, check and the suites on DEVICE; writes events.jsonl and env.json."""
    workspace, item = folders.workspace, folders.device(device)
    device = item.device.name
    with locked_run(workspace, device, shard):
        build = read(Build, workspace.run(device).build)
        share, choice = share_of(workspace, device, shard)
        stages = test(
            item.device,
            build,
            share,
            suites,
            clock=clock,
            progress=Progress(),
            planned=_planned(workspace.plan, device),
            options=suite_options(item, build, workspace),
            choice=choice,
        )
    show_stages(stages, output_format)
    bad = {stage.name for stage in stages if stage.status is not StageStatus.PASSED}
    code = EXIT_INFRASTRUCTURE if StageName.CHECK in bad else EXIT_DEVICE if bad else EXIT_FINE
    sys.exit(EXIT_FINE if exit_zero else code)
