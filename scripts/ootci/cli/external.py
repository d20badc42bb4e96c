"""``ootci external``."""

from __future__ import annotations

from collections.abc import Callable

import click

from ootci.adapters.download import DownloadProblem
from ootci.adapters.download import read as download
from ootci.cli.annotation import show_warning
from ootci.cli.context import Folders, attempt_number, clock, folder_options, format_option
from ootci.cli.report import one_line, told
from ootci.errors import ExternalUnreachable, OotciError
from ootci.history.store import History
from ootci.model.device import RegisteredDevice, find_device
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import read, write
from ootci.stages.external import taken_in

MAX_BYTES = 32 * 1024 * 1024
"""A run.json of 20,000 tests has 7 MB."""
SECONDS = 120.0


@click.command("external", short_help="Take in what was reported elsewhere.")
@click.option("--strict", is_flag=True, help="Fail when a report could not be taken in; all others are, all the same.")
@format_option
@folder_options("devices", "work", "history")
def external(strict: bool, output_format: str, folders: Folders) -> None:
    """Take in the reports of devices that are run elsewhere (`external` in their files), for `ootci history append`.

    Each is downloaded within limits and read as data. One that is missing, broken, another device's, older than the
    device's cadence allows, or was taken in before is a warning here and NO_DATA in the nightly: it costs no other
    device anything.
    """
    lines: list[str] = []
    taken, refused = take_in(read(Plan, folders.workspace.plan), folders.registry(), folders, lines.append)
    if output_format == "json":
        click.echo(told("", {"taken": taken}, output_format))
    elif lines:
        click.echo("\n".join(map(one_line, lines)))
    if strict and refused:
        raise refused[0]


def take_in(
    plan: Plan, registry: tuple[RegisteredDevice, ...], folders: Folders, say: Callable[[str], None]
) -> tuple[list[str], list[OotciError]]:
    """Put a run.json into the work folder for every planned device that is run elsewhere and has reported.

    Returns:
        The devices whose reports were taken in, and why those of others were not.

    """
    taken: list[str] = []
    refused: list[OotciError] = []
    for run in plan.runs:
        if run.external is None:
            continue
        folders.workspace.run(run.device).run.unlink(missing_ok=True)
        try:
            found = _one(plan, run, registry, folders)
        except OotciError as error:
            show_warning(f"{run.device} has no report from elsewhere", error)
            refused.append(error)
        else:
            say(f"{run.device}: {found}")
            taken.append(run.device)
    return taken, refused


def _one(plan: Plan, run: PlannedRun, registry: tuple[RegisteredDevice, ...], folders: Folders) -> str:
    device, now, address = find_device(registry, run.device).device, clock(), run.external or ""
    try:
        content, _ = download(address, at_most=MAX_BYTES, seconds=SECONDS, private=True)
    except DownloadProblem as problem:
        raise ExternalUnreachable(str(problem), where=address, fix="see whether it is published there") from problem
    before = next(iter(History(folders.history).newest_stored(device.name)), None)
    taken = taken_in(device, plan, content, before.head if before else None, now=now, attempt=attempt_number())
    write(taken, folders.workspace.run(device.name).run)
    return f"taken in from {address}, {(now - taken.finished_at).total_seconds() / 3600:.1f} hours old"
