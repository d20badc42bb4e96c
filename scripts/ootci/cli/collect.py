"""``ootci collect``."""

from __future__ import annotations

from pathlib import Path

import click

from ootci.cli.options import folder_options, format_option, path_option
from ootci.cli.show import note, show_table
from ootci.flows.context import Folders, attempt_number, clock, run_url
from ootci.flows.shares import locked_run, take_shares
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.stages.collect import NOT_KNOWN, collect


@click.command("collect", short_help="Collect the results of a run.")
@click.argument("device")
@path_option(
    "--shares",
    metavar="DIR",
    text="Folder with the artifacts of shares from other machines; the newest attempt of each counts.",
)
@format_option
@folder_options("devices", "work")
def collect_command(device: str, shares: Path | None, output_format: str, folders: Folders) -> None:
    """Collect the results of DEVICE's stages; writes run.json, and JUnit reports of the run and of each suite.

    A run folder with only JUnit, from pytest run by hand, is collected too.
    """
    workspace = folders.workspace
    item = folders.device(device)
    device = item.device.name
    with locked_run(workspace, device):
        if shares is not None:
            for shard in take_shares(shares, workspace, device):
                note(f"{device}: {shard}")
        plan, folder = read(Plan, workspace.plan), workspace.run(device)
        run = collect(item.device, plan, folder, now=clock(), attempt=attempt_number(), url=run_url())
    for stage in run.stages:
        if (stage.reason or "").startswith(NOT_KNOWN):
            note(f"{device} {stage.name}: {stage.reason}")
    lines = [
        f"{device} {report.suite}: {report.state.value}, {report.counts.pass_rate} tests passed, "
        f"{report.counts.failures} failed"
        for report in run.suites
    ]
    rows = [
        (one.suite, one.state.value, str(one.counts.passed), str(one.counts.executed), str(one.counts.failures))
        for one in run.suites
    ]
    show_table(("suite", "report", "passed", "executed", "failed"), rows, output_format, "\n".join(lines))
