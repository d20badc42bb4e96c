"""``ootci nightly``: every stage, for chosen devices, on one machine."""

from __future__ import annotations

import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.terminal import Progress
from ootci.cli.context import Folders, attempt_number, clock, folder_options, format_option, progress
from ootci.cli.external import take_in
from ootci.cli.history import append_workspace
from ootci.cli.plan import device_option, github_trigger, torch_option
from ootci.cli.report import HEADINGS, nightly_rows, one_line, stage_lines, table
from ootci.cli.test import suites_folder, suites_option
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, OotciError
from ootci.history.store import History
from ootci.model.build import Build
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import read, write
from ootci.model.run import Run
from ootci.model.torch_build import TorchRequest
from ootci.model.verdict import AS_EXPECTED, VerdictName, Verdicts
from ootci.stages.build import build
from ootci.stages.collect import collect
from ootci.stages.judge import judge
from ootci.stages.plan import plan
from ootci.stages.render import render
from ootci.stages.test import suite_options, test


@dataclass(frozen=True)
class Night:
    """What is run, with what, and where it goes.

    Attributes:
        registry: every registered device.
        chosen: names of the devices to run; empty means all that are due.
        torch: what was asked for; None leaves it to the device files.
        suites: the suites folder.
        folders: the work folder, the history and the site.
        progress: told what is going on.
        installed: the torch of an environment that is there already, in place of ``torch``.

    """

    registry: tuple[RegisteredDevice, ...]
    chosen: Sequence[str]
    torch: str | None
    suites: Path
    folders: Folders
    progress: Progress
    installed: TorchRequest | None = None


Preparation = Callable[[RegisteredDevice, PlannedRun, Night], tuple[RegisteredDevice, Build]]
"""Makes an environment ready for a device; says with which device file it is tested, and what came of it."""


@click.command(short_help="Run every stage on this machine.")
@device_option
@torch_option
@suites_option
@format_option
@folder_options("devices", "work", "history", "site")
def nightly(
    chosen: tuple[str, ...], torch: str | None, suites_dir: Path | None, output_format: str, folders: Folders
) -> None:
    """Run every stage for the chosen devices on this machine, and render the dashboard.

    What has not changed since the last time is not built again.
    """
    suites = suites_folder(suites_dir)
    with locked(folders.work):
        night = Night(folders.registry(), chosen, torch, suites, folders, progress())
        planned, verdicts = run_night(night, built_here)
    report_night(planned, verdicts, folders, output_format)
    sys.exit(exit_code(planned, verdicts))


def built_here(item: RegisteredDevice, run: PlannedRun, night: Night) -> tuple[RegisteredDevice, Build]:
    """Make the device's environment and plugin on this machine."""
    return item, build(item, run, night.folders.workspace, night.suites, clock=clock, progress=night.progress)


def run_night(night: Night, prepare: Preparation) -> tuple[Plan, Verdicts]:
    """Run every stage; the caller holds the lock of the work folder."""
    folders = night.folders
    planned = _plan(night)
    by_name = {item.device.name: item for item in night.registry}
    take_in(planned, night.registry, folders, night.progress.say)
    for run in planned.runs:
        if run.external is not None:
            continue
        _one_device(by_name[run.device], run, planned, night, prepare)
    append_workspace(folders.workspace, History(folders.history), night.progress.say)
    with night.progress.step("judge and render"):
        verdicts = judge(night.registry, History(folders.history), clock())
        write(verdicts, folders.workspace.verdicts)
        render(night.registry, History(folders.history), verdicts, folders.site)
    return planned, verdicts


def _plan(night: Night) -> Plan:
    trigger, suffix = github_trigger()
    with night.progress.step("plan: looking for torch"):
        planned = plan(
            night.registry,
            chosen=[name for name in night.chosen if name],
            torch=night.torch or None,
            installed=night.installed,
            now=clock(),
            trigger=trigger,
            suffix=suffix,
            history=History(night.folders.history),
            say=night.progress.say,
        )
    write(planned, night.folders.workspace.plan)
    return planned


def _one_device(
    registered: RegisteredDevice, run: PlannedRun, planned: Plan, night: Night, prepare: Preparation
) -> None:
    """Build, test and collect one device. Whatever goes wrong here must not keep the next device from running."""
    workspace, progress_ = night.folders.workspace, night.progress
    folder = workspace.run(run.device)
    try:
        item, built = prepare(registered, run, night)
        for line in stage_lines(built.stages):
            progress_.say(f"  {line}")
        shutil.rmtree(folder.shards, ignore_errors=True)
        options = suite_options(item, built, workspace)
        tested = test(
            item.device,
            built,
            folder,
            night.suites,
            clock=clock,
            progress=progress_,
            planned=run,
            options=options,
        )
        for line in stage_lines(tested):
            progress_.say(f"  {line}")
        collect(item.device, planned, folder, now=clock(), attempt=attempt_number())
    except OotciError as error:
        progress_.say(f"{run.device}: {error.id}: {error}")
    except Exception:  # the nightly's last line of defence: the device becomes NO_DATA, and the defect is shown
        progress_.say(f"{run.device}: a defect of ootci itself, please report it:\n{traceback.format_exc()}")


def _runs(planned: Plan, folders: Folders) -> dict[str, Run]:
    files = {run.device: folders.workspace.run(run.device).run for run in planned.runs}
    runs = {device: read(Run, path) for device, path in files.items() if path.exists()}
    # A stage that failed before it could clear the folder leaves an earlier nightly's run there.
    return {device: run for device, run in runs.items() if run.plan_id == planned.id}


def report_night(planned: Plan, verdicts: Verdicts, folders: Folders, output_format: str) -> None:
    """Print the row of every device that ran, what was tested and why it is as it is, and where the page is."""
    runs = _runs(planned, folders)
    mine = [item for item in verdicts.devices if any(run.device == item.device for run in planned.runs)]
    click.echo(table(HEADINGS, nightly_rows(mine, runs), output_format))
    if output_format == "json":
        return
    click.echo("")
    for item in mine:
        click.echo(f"{item.device}: {item.verdict.value}: {one_line(item.reason)}")
        request = item.torch_request
        if item.torch is not None:
            click.echo(f"  torch {one_line(item.torch.version)} (git {one_line(item.torch.git_version or 'unknown')})")
        plugin = runs[item.device].plugin if item.device in runs else None
        if plugin is not None:
            click.echo(f"  plugin {one_line(plugin.package)} {one_line(plugin.version or 'that could not be built')}")
        if request is not None and request.fallback_reason:
            click.echo(f"  FALLBACK: {one_line(request.deviation or '')}")
    click.echo(f"\ndashboard: {folders.site / 'index.html'}")


def exit_code(planned: Plan, verdicts: Verdicts) -> int:
    """What the devices that ran make of the exit code."""
    ran = {run.device for run in planned.runs}
    bad = {item.verdict for item in verdicts.devices if item.device in ran} - AS_EXPECTED
    if not bad:
        return EXIT_FINE
    return EXIT_INFRASTRUCTURE if bad <= {VerdictName.INFRA} else EXIT_DEVICE
