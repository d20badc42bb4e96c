"""``ootci plan``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from ootci.cli.context import Folders, attempt_number, clock, folder_options, format_option, progress
from ootci.cli.proposal import payload_option, proposed, pull_request_option
from ootci.cli.report import table
from ootci.cli.share import remembered
from ootci.history.durations import measured
from ootci.history.store import History
from ootci.model.device import Container, Device, RegisteredDevice, find_device
from ootci.model.durations import Durations
from ootci.model.plan import Plan, Trigger
from ootci.model.record import write
from ootci.stages.plan import plan

device_option = click.option(
    "--device", "chosen", multiple=True, metavar="NAME", help="Device to run, repeatable; all that are not paused."
)
torch_option = click.option(
    "--torch",
    metavar="TORCH",
    help="nightly, nightly@2026-11-20, a version such as 2.13.0, or the path of a wheel; the device files decide when "
    "absent.",
)


def github_trigger() -> tuple[Trigger, str | None]:
    """What started this nightly, and a suffix for the plan's id, from GitHub's default environment variables.

    Source: GitHub's documentation, "Store information in variables", default environment variables.
    """
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return Trigger(event="local"), None
    server, repository, run_id = (
        os.environ.get(f"GITHUB_{name}", "") for name in ("SERVER_URL", "REPOSITORY", "RUN_ID")
    )
    attempt = attempt_number()
    # Running all jobs again plans again: another plan of the same workflow run, with an id of its own.
    suffix = run_id if attempt == 1 else f"{run_id}-{attempt}"
    url = f"{server}/{repository}/actions/runs/{run_id}" if server and repository and run_id else None
    return Trigger(event=os.environ.get("GITHUB_EVENT_NAME", "local"), url=url), suffix if run_id else None


@click.command("plan", short_help="Decide who runs on which torch.")
@device_option
@torch_option
@pull_request_option
@payload_option
@click.option("--event", metavar="EVENT", help="What started the nightly; GITHUB_EVENT_NAME or local when absent.")
@click.option("--url", metavar="URL", help="Page of the workflow run; made from GitHub's variables when absent.")
@click.option("--plan-suffix", metavar="TEXT", help="Makes the plan's id unique within a day; GITHUB_RUN_ID or time.")
@click.option(
    "--durations-from",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A durations.json of `ootci collect --durations-to`, for devices without a history here.",
)
@click.option("--github-output", type=click.Path(path_type=Path), help="Append what a workflow needs to this file.")
@format_option
@folder_options("devices", "work", "history")
def plan_command(
    chosen: tuple[str, ...],
    torch: str | None,
    pull_request: str | None,
    payload: Path | None,
    event: str | None,
    url: str | None,
    plan_suffix: str | None,
    durations_from: Path | None,
    github_output: Path | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Decide which devices run on which torch; writes plan.json, and durations.json for shares.

    For a workflow: the matrix of jobs, the plan's id, how many devices run, and of a single one its name and its job.
    """
    found, suffix = github_trigger()
    trigger = Trigger(event=event or found.event, url=url or found.url)
    progress_ = progress()
    past = History(folders.history)
    registry = folders.registry()
    wanted = [name for name in chosen if name]
    if folders.devices.is_file() and not wanted and not pull_request:
        # Who names one file asks for its device, paused and due another day or not; a delivery asks the file.
        wanted = [registry[0].device.name]
    with progress_.step("plan: looking for torch"):
        result = plan(
            registry,
            chosen=wanted,
            torch=torch or None,
            now=clock(),
            trigger=trigger,
            suffix=plan_suffix or suffix,
            history=past,
            proposed=proposed(pull_request, payload) if pull_request else None,
            say=progress_.say,
        )
    write(result, folders.workspace.plan)
    known = remembered(durations_from)
    seconds = {run.device: measured(past.newest_runs(run.device)) or known.get(run.device, {}) for run in result.runs}
    write(Durations(devices=seconds), folders.workspace.durations)
    if github_output is not None:
        with github_output.open("a", encoding="utf-8") as stream:
            stream.write(_outputs(result, registry))
    if output_format == "json":
        click.echo(result.to_json(), nl=False)
    elif output_format == "markdown":
        click.echo(_table(result))
    else:
        for run in result.runs:
            where = f", run elsewhere: {run.external}" if run.external else ""
            click.echo(f"{run.device}: torch {run.torch.version or 'none'} ({run.torch.channel.value}){where}")
        for left in result.left_out:
            click.echo(f"{left.device}: left out, {left.reason}")


def _table(result: Plan) -> str:
    rows = [
        (run.device, run.torch.version or "none", run.torch.channel.value, run.torch.fallback_reason or "")
        for run in result.runs
    ]
    rows += [(left.device, "", "", f"left out: {left.reason}") for left in result.left_out]
    return table(("device", "torch", "channel", "note"), rows, "markdown")


def _outputs(result: Plan, registry: tuple[RegisteredDevice, ...]) -> str:
    include = [_job(find_device(registry, run.device).device) for run in result.runs if run.external is None]
    text = f"matrix={json.dumps({'include': include})}\nplan-id={result.id}\ncount={len(include)}\n"
    if len(include) == 1:
        text += f"device={include[0]['device']}\njob={json.dumps(include[0])}\n"
    return text


def _job(device: Device) -> dict[str, object]:
    """What a workflow has to know of a device's job before it begins."""
    runner = device.runner
    return {
        "device": device.name,
        "runner": list(runner.labels),
        "python": device.python or "",
        "timeout-minutes": device.limits.job_minutes,
        "container": _container(runner.container),
        "credentials": device.credentials and device.credentials.model_dump(),  # names, not values
        "build": _build_job(device),
        "shares": [{"index": index, "count": runner.shares} for index in range(1, runner.shares + 1)],
    }


def _container(container: Container | None) -> dict[str, object]:
    # GitHub runs a job whose container has no image on the machine itself. Volumes are options here, because a
    # workflow can only list those that it knows beforehand.
    if container is None:
        return {"image": "", "options": "", "credentials": False}
    volumes = [f"--volume {volume}" for volume in container.volumes]
    return {
        "image": container.image,
        "options": " ".join([container.options or "", *volumes]).strip(),
        "credentials": container.credentials is not None,
    }


def _build_job(device: Device) -> dict[str, object] | None:
    """Where the plugin is built, in a job of its own; None where the job that tests builds it, or nobody does."""
    chosen = device.build.runner
    if device.plugin.package is not None or (chosen is None and device.runner.shares == 1):
        return None
    place = chosen or device.runner
    return {"runner": list(place.labels), "container": _container(place.container)}
