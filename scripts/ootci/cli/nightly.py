"""``ootci nightly``: every stage, for chosen devices, on one machine."""

from __future__ import annotations

import shutil
import sys
import traceback
from pathlib import Path

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.terminal import Progress
from ootci.cli.context import Folders, attempt_number, clock, folder_options, format_option, progress
from ootci.cli.history import append_workspace
from ootci.cli.plan import device_option, github_trigger, torch_option
from ootci.cli.report import HEADINGS, nightly_rows, one_line, stage_lines, table
from ootci.cli.test import suites_folder, suites_option
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, OotciError
from ootci.history.store import History
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import read, write
from ootci.model.run import Run
from ootci.model.verdict import AS_EXPECTED, VerdictName, Verdicts
from ootci.stages.build import build
from ootci.stages.collect import collect
from ootci.stages.judge import judge
from ootci.stages.plan import plan
from ootci.stages.render import render
from ootci.stages.test import suite_options, test


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
    progress_ = progress()
    with locked(folders.work):
        registry = folders.registry()
        planned = _plan(registry, chosen, torch, folders, progress_)
        by_name = {item.device.name: item for item in registry}
        for run in planned.runs:
            _one_device(by_name[run.device], run, planned, folders, suites, progress_)
        append_workspace(folders.workspace, History(folders.history), progress_.say)
        with progress_.step("judge and render"):
            verdicts = judge(registry, History(folders.history), clock())
            write(verdicts, folders.workspace.verdicts)
            render(registry, History(folders.history), verdicts, folders.site)
        runs = _runs(planned, folders)
    _print(planned, verdicts, runs, folders, output_format)
    sys.exit(_exit_code(planned, verdicts))


def _plan(
    registry: tuple[RegisteredDevice, ...],
    chosen: tuple[str, ...],
    torch: str | None,
    folders: Folders,
    progress_: Progress,
) -> Plan:
    trigger, suffix = github_trigger()
    with progress_.step("plan: looking for torch"):
        planned = plan(
            registry,
            chosen=[name for name in chosen if name],
            torch=torch or None,
            now=clock(),
            trigger=trigger,
            suffix=suffix,
            history=History(folders.history),
            say=progress_.say,
        )
    write(planned, folders.workspace.plan)
    return planned


def _one_device(
    item: RegisteredDevice, run: PlannedRun, planned: Plan, folders: Folders, suites: Path, progress_: Progress
) -> None:
    """Build, test and collect one device. Whatever goes wrong here must not keep the next device from running."""
    workspace = folders.workspace
    folder = workspace.run(run.device)
    try:
        built = build(item, run, workspace, clock=clock, progress=progress_)
        for line in stage_lines(built.stages):
            progress_.say(f"  {line}")
        shutil.rmtree(folder.shards, ignore_errors=True)
        options = suite_options(item, built, workspace)
        tested = test(
            item.device,
            built,
            folder,
            suites,
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


def _print(planned: Plan, verdicts: Verdicts, runs: dict[str, Run], folders: Folders, output_format: str) -> None:
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
        if request is not None and request.fallback_reason:
            click.echo(f"  FALLBACK: {one_line(request.deviation or '')}")
    click.echo(f"\npage: {folders.site / 'index.html'}")


def _exit_code(planned: Plan, verdicts: Verdicts) -> int:
    ran = {run.device for run in planned.runs}
    bad = {item.verdict for item in verdicts.devices if item.device in ran} - AS_EXPECTED
    if not bad:
        return EXIT_FINE
    return EXIT_INFRASTRUCTURE if bad <= {VerdictName.INFRA} else EXIT_DEVICE
