"""``ootci test``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ootci.cli.context import Folders, clock, exit_zero_option, folder_options, format_option, progress
from ootci.cli.report import stages_text
from ootci.cli.share import locked_run, share_of
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, BadOption
from ootci.model.build import Build, StageName, StageStatus
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import read
from ootci.resources import suites_folder as shipped_suites
from ootci.stages.test import suite_options, test

suites_option = click.option(
    "--suites",
    "suites_dir",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the suites, to work on them; those shipped with the tool when absent.",
)


def suites_folder(given: Path | None) -> Path:
    """The suites folder to use.

    Raises:
        BadOption: the folder given is not one.

    """
    folder = (given or shipped_suites()).resolve()
    if not (folder / "pytest.ini").is_file():
        raise BadOption(
            "the folder is not a suites folder: it has no pytest.ini",
            where=f"--suites {folder}",
            fix="leave --suites out, or name a copy of tests/device",
        )
    return folder


def _planned(plan: Path, device: str) -> PlannedRun | None:
    """What the nightly knows of the device; a run by hand may do without a plan."""
    if not plan.exists():
        return None
    return read(Plan, plan).expected(device)


@click.command("test", short_help="Run the suites on a device.")
@click.argument("device")
@exit_zero_option
@suites_option
@click.option("--shard", metavar="I/N", help="Run the I-th of N shares of the tests; `ootci collect` joins them.")
@format_option
@folder_options("devices", "work")
def test_command(
    device: str,
    exit_zero: bool,
    suites_dir: Path | None,
    shard: str | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Run import, check and the suites on DEVICE; writes events.jsonl and env.json."""
    workspace, item = folders.workspace, folders.device(device)
    suites = suites_folder(suites_dir)
    with locked_run(workspace, device, shard):
        build = read(Build, workspace.run(device).build)
        share, choice = share_of(workspace, device, shard)
        stages = test(
            item.device,
            build,
            share,
            suites,
            clock=clock,
            progress=progress(),
            planned=_planned(workspace.plan, device),
            options=suite_options(item, build, workspace),
            choice=choice,
        )
    click.echo(stages_text(stages, output_format))
    bad = {stage.name for stage in stages if stage.status is not StageStatus.PASSED}
    code = EXIT_INFRASTRUCTURE if StageName.CHECK in bad else EXIT_DEVICE if bad else EXIT_FINE
    sys.exit(EXIT_FINE if exit_zero else code)
