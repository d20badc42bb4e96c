"""``ootci collect``."""

from __future__ import annotations

import os

import click

from ootci.cli.context import Folders, clock, folder_options
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.stages.collect import collect


def attempt_number() -> int:
    """Which attempt this is: GitHub counts re-runs in GITHUB_RUN_ATTEMPT, elsewhere it is the first."""
    text = os.environ.get("GITHUB_RUN_ATTEMPT", "1") if os.environ.get("GITHUB_ACTIONS") == "true" else "1"
    return int(text) if text.isdigit() and int(text) > 0 else 1


@click.command("collect")
@click.argument("device")
@folder_options("devices", "work")
def collect_command(device: str, folders: Folders) -> None:
    """Put together what the stages left behind for DEVICE; writes run.json."""
    workspace = folders.workspace
    item = folders.device(device)
    run = collect(item.device, read(Plan, workspace.plan), workspace.run(device), now=clock(), attempt=attempt_number())
    for report in run.suites:
        counts = report.counts
        text = f"{counts.passed} of {counts.executed} executed tests passed, {counts.failures} failed"
        click.echo(f"{device} {report.suite}: {report.state.value}, {text}")
