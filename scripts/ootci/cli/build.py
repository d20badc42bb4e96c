"""``ootci build``."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

import click

from ootci import __version__
from ootci.adapters.folder_lock import locked
from ootci.adapters.progress import Progress
from ootci.cli.options import (
    exit_zero_option,
    folder_options,
    format_option,
    github_output_option,
    path_option,
    suites_option,
)
from ootci.cli.show import append, note, show_stages
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, BadOption
from ootci.flows.context import Folders, clock
from ootci.model.build import Build, Provenance, StageStatus
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.stages.build import NewEnvironment, TakenOver, build, hand_over


@click.command("build", short_help="Install torch and build the plugin.")
@click.argument("device")
@exit_zero_option
@path_option(
    "--hand-over",
    "handed_to",
    metavar="DIR",
    text="Also write the wheel, its checksum and the build's result to this folder, for another machine.",
)
@path_option(
    "--take-over",
    "handed",
    metavar="DIR",
    text="Install the wheel that --hand-over wrote for the same plan, instead of building.",
)
@click.option(
    "--checksum", metavar="SHA256", help="With --take-over: the checksum of handover.json that --hand-over printed."
)
@github_output_option("Append `handover=CHECKSUM`, and `built=yes` or `built=no`, to this file.")
@suites_option
@format_option
@folder_options("devices", "work")
def build_command(
    device: str,
    exit_zero: bool,
    handed_to: Path | None,
    handed: Path | None,
    checksum: str | None,
    github_output: Path | None,
    suites: Path,
    output_format: str,
    folders: Folders,
) -> None:
    """Create DEVICE's environment, install torch and build the plugin; writes build.json."""
    item, workspace, progress = folders.device(device), folders.workspace, Progress()
    plan = read(Plan, workspace.plan)
    device = item.device.name
    run = plan.run_of(device)
    _require_sources(item, handed_to, handed)
    with locked(folders.work):
        environment: NewEnvironment
        if handed is not None:
            environment = TakenOver(item, run, workspace, suites, handed=handed, stated=checksum or None)
        else:
            environment = NewEnvironment(item, run, workspace, suites, tests=handed_to is None)
        result = build(environment, clock=clock, progress=progress)
        if handed_to is not None:
            told = hand_over(result, workspace, handed_to, _provenance(plan))
            note(f"{device}: handed over, {told}")
            built = "yes" if _exit_code(result) == EXIT_FINE else "no"
            append(f"handover={told}\nbuilt={built}\n", github_output)
    show_stages(result.stages, output_format)
    sys.exit(EXIT_FINE if exit_zero else _exit_code(result))


def _exit_code(result: Build) -> int:
    fetch_failed = result.stages[0].status is not StageStatus.PASSED
    failed = any(stage.status is not StageStatus.PASSED for stage in result.stages)
    return EXIT_INFRASTRUCTURE if fetch_failed else EXIT_DEVICE if failed else EXIT_FINE


def _require_sources(item: RegisteredDevice, handed_to: Path | None, handed: Path | None) -> None:
    if handed_to is not None and handed is not None:
        raise BadOption("a build is handed over or taken over", where="--hand-over --take-over", fix="leave one out")
    if (handed_to or handed) is not None and item.device.plugin.package is not None:
        raise BadOption(
            "a plugin that comes as a package is not built, so that there is nothing to hand over",
            where=str(item.path),
            fix="leave --hand-over and --take-over out",
        )


def _provenance(plan: Plan) -> Provenance:
    on_github = os.environ.get("GITHUB_ACTIONS") == "true"
    return Provenance(
        url=plan.trigger.url,
        commit=os.environ.get("GITHUB_SHA") if on_github else None,
        runner=os.environ.get("RUNNER_NAME") if on_github else None,
        machine=platform.machine(),
        os=platform.platform(),
        ootci=__version__,
    )
