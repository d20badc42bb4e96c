"""What devices that are run elsewhere have reported is put into the work folder."""

from __future__ import annotations

from collections.abc import Callable

from ootci.adapters.annotation import show_warning
from ootci.adapters.download import DownloadProblem
from ootci.adapters.download import read as download
from ootci.errors import ExternalUnreachable, OotciError
from ootci.flows.context import Folders, attempt_number, clock
from ootci.history.store import History
from ootci.model.device import RegisteredDevice, find_device
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import write
from ootci.stages.external import taken_in

MAX_BYTES = 32 * 1024 * 1024
"""A run.json of 20,000 tests has 7 MB."""
SECONDS = 120.0


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
