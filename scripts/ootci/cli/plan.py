"""``ootci plan``."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ootci.adapters.annotation import show_notice
from ootci.adapters.folder_lock import locked
from ootci.adapters.progress import Progress
from ootci.cli.options import (
    folder_options,
    format_option,
    github_output_option,
    path_option,
    payload_option,
    torch_option,
)
from ootci.cli.show import append, note, one_line, show, table
from ootci.errors import BadOption
from ootci.flows.context import Folders
from ootci.flows.planning import make_plan
from ootci.flows.proposal import DELIVERED, proposed
from ootci.model.device import BuildRunner, Container, Device, RegisteredDevice, Runner, find_device
from ootci.model.plan import Plan
from ootci.stages.plan import NotDue


@click.command("plan", short_help="Choose a nightly's devices and torch.")
@click.option(
    "--device",
    "chosen",
    multiple=True,
    metavar="DEVICE",
    help="Device to run, a name or a device file; repeatable. Default: all that are not paused.",
)
@torch_option
@click.option(
    "--pull-request",
    metavar="N|delivered",
    help="Plan for a pull request of PyTorch instead: its number, or what the relay delivered (--payload).",
)
@payload_option
@path_option(
    "--if-due",
    text="Plan only when there is a new nightly since the plan in FILE, or after 14:00 UTC where none was planned that "
    "day; writes the plan to FILE, too.",
)
@github_output_option("Append what a workflow needs to this file.")
@format_option
@folder_options("devices", "work", "history")
def plan_command(
    chosen: tuple[str, ...],
    torch: str | None,
    pull_request: str | None,
    payload: Path | None,
    if_due: Path | None,
    github_output: Path | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Decide which devices run on which torch; writes plan.json.

    For a workflow: the matrix of jobs, the plan's id, how many devices run, of a single one its name and its job, and
    with --if-due whether it is due.
    """
    if if_due is not None and pull_request is not None:
        raise BadOption("a pull request is tested when it changes", where="--if-due", fix="leave out one of the two")
    if payload is not None and pull_request != DELIVERED:
        fix = f"leave it out, or say --pull-request {DELIVERED}"
        raise BadOption("what was delivered is not read", where="--payload", fix=fix)
    folders, chosen = folders.among(chosen)
    registry = folders.registry()
    if folders.devices.is_file() and not any(chosen) and not pull_request:
        # With a single device file its device runs, even if it is not due; for a delivery the file decides.
        device = registry[0].device
        if device.paused is None:
            chosen = (device.name,)
        else:
            show_notice("not run", f"{device.name} is paused: {device.paused.reason}")
    with locked(folders.work):
        try:
            result = make_plan(
                registry,
                folders,
                Progress(),
                chosen=chosen,
                torch=torch,
                proposed=proposed(pull_request, payload) if pull_request else None,
                if_due=if_due,
            )
        except NotDue as reason:
            note(f"not planned: {reason}")
            append("due=no\ncount=0\n", github_output)
            return
    append(("due=yes\n" if if_due else "") + _outputs(result, registry), github_output)
    show(result, output_format, lambda markdown: _table(result) if markdown else _lines(result))


def _lines(result: Plan) -> str:
    lines = []
    for run in result.every_run:
        where = f", run elsewhere: {one_line(run.external)}" if run.external else ""
        lines.append(f"{run.device}: torch {one_line(run.torch.version or 'none')} ({run.torch.channel.value}){where}")
    lines += [f"{left.device}: left out, {one_line(left.reason)}" for left in result.left_out]
    return "\n".join(lines)


def _table(result: Plan) -> str:
    rows = [
        (run.device, run.torch.version or "none", run.torch.channel.value, run.torch.fallback_reason or "")
        for run in result.every_run
    ]
    rows += [(left.device, "", "", f"left out: {left.reason}") for left in result.left_out]
    return table(("device", "torch", "channel", "note"), rows, markdown=True)


def _outputs(result: Plan, registry: tuple[RegisteredDevice, ...]) -> str:
    change = result.trigger.proposal is not None
    here = [run.device for run in result.every_run if run.external is None]
    include = [_job(find_device(registry, name).device, change) for name in here]
    compiled = [] if change else [{"device": name, "compile": True} for name in result.sources_to_compile(registry)]
    text = f"matrix={json.dumps({'include': include + compiled})}\nplan-id={result.id}\ncount={len(include)}\n"
    if len(include) == 1:
        text += f"device={include[0]['device']}\njob={json.dumps(include[0])}\n"
    return text


def _job(device: Device, change: bool) -> dict[str, object]:
    """The properties of a device's job that a workflow needs before it starts."""
    runner = device.runner
    return {
        "device": device.name,
        "change": change,  # whether a pull request or a push is tested instead of a nightly
        "runner": _runs_on(runner),
        "python": "system" if runner.system_python else device.python or "",
        "timeout-minutes": device.limits.job_minutes,
        "container": _container(runner.container),
        "credentials": device.credentials and device.credentials.model_dump(),  # names, not values
        "build": _build_job(device),
        "shares": [{"index": index, "count": runner.shares} for index in range(1, runner.shares + 1)],
    }


def _runs_on(runner: Runner | BuildRunner) -> object:
    """Source: GitHub's documentation, "Workflow syntax for GitHub Actions", ``jobs.<job_id>.runs-on``."""
    labels = list(runner.labels)
    return {"group": runner.group, "labels": labels} if runner.group else labels


def _container(container: Container | None) -> dict[str, object]:
    # GitHub runs a job whose container has no image on the machine itself. Volumes are passed as options, because a
    # workflow can list only a fixed number of them.
    if container is None:
        return {"image": "", "options": "", "credentials": False}
    volumes = [f"--volume {volume}" for volume in container.volumes]
    return {
        "image": container.image,
        "options": " ".join([container.options or "", *volumes]).strip(),
        "credentials": container.credentials is not None,
    }


def _build_job(device: Device) -> dict[str, object] | None:
    """The separate job that builds the plugin; None if the testing job builds it, or nothing is built."""
    if not device.is_built_apart:
        return None
    place = device.build.runner or device.runner
    return {"runner": _runs_on(place), "container": _container(place.container)}
