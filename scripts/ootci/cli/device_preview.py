"""``ootci device preview``."""

from __future__ import annotations

import tempfile
from datetime import datetime
from pathlib import Path

import click

from ootci.cli.context import Folders, clock, folder_options, format_option
from ootci.cli.report import told
from ootci.errors import BadOption
from ootci.history.store import History
from ootci.model.device import RegisteredDevice, load_device
from ootci.model.plan import Plan, PlannedRun, PlannedSuite, Trigger
from ootci.model.record import read
from ootci.model.run import Run
from ootci.stages.judge import judge
from ootci.stages.render import render


@click.command(short_help="Render the row and the page that a device file would get.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("preview"),
    show_default=True,
    metavar="DIR",
    help="Where the pages go: a new folder, an empty one, or a preview of before.",
)
@click.option(
    "--run",
    "run_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A run.json of the device, to be shown as if it were the newest nightly's.",
)
@format_option
@folder_options("history")
def preview(file: Path, output: Path, run_file: Path | None, output_format: str, folders: Folders) -> None:
    """Render the row, the page and the entry in the registry that a device FILE would get.

    Every page says that it is a preview. What has been reported of the device is shown where the history folder holds
    it, or with --run; of a device that nobody ran yet the row says so.
    """
    item = load_device(file)
    show_preview(item, output, run_file, folders.history)
    name = item.device.name
    places = {"row": f"index.html#{name}", "page": f"d/{name}/index.html", "registry": f"devices/index.html#{name}"}
    pages = {what: str(output / place) for what, place in places.items()}
    if output_format == "json":
        click.echo(told("", pages, output_format))
        return
    for what, page in pages.items():
        click.echo(f"{what}: {page}")


def show_preview(item: RegisteredDevice, output: Path, run_file: Path | None, history: Path) -> None:
    """Render a device's preview.

    Args:
        item: the device.
        output: the folder that is written.
        run_file: a run of the device that is shown instead of the history.
        history: the folder of past runs.

    Raises:
        BadOption: the run is another device's.
        StageFileMissing, StageFileInvalid, HostFailure: the run cannot be read, or the folder not be written.

    """
    if run_file is None:
        _render(item, History(history), output, clock())
        return
    run = read(Run, run_file)
    if run.device != item.device.name:
        raise BadOption(
            f"the run is one of `{run.device}` and not of `{item.device.name}`",
            where=str(run_file),
            fix="name the device's own run.json",
        )
    with tempfile.TemporaryDirectory() as folder:
        store = History(Path(folder))
        with store.together():
            store.append_plan(_plan(item, run))
            store.append_run(run)
        _render(item, History(Path(folder)), output, run.finished_at)


def _render(item: RegisteredDevice, history: History, output: Path, now: datetime) -> None:
    registry = (item,)
    render(registry, history, judge(registry, history, now), output, preview_of=item.path.name)


def _plan(item: RegisteredDevice, run: Run) -> Plan:
    """The nightly that would have asked for a run, by the device file as it stands."""
    device = item.device
    planned = PlannedRun(
        run_id=run.id,
        device=device.name,
        device_sha256=item.sha256,
        torch=run.torch_request,
        suites=tuple(
            PlannedSuite(name=suite.name, required=suite.required, min_tests=suite.min_tests) for suite in device.suites
        ),
        runner=device.runner.labels,
        timeout_minutes=device.limits.job_minutes,
        known_failures=device.known_failures,
        unsupported=device.unsupported,
    )
    return Plan(id=run.plan_id, created_at=run.started_at, trigger=Trigger(event="local"), runs=(planned,))
