"""``ootci device run``: a nightly of one device file, also in an environment that is there already."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.interpreter import InterpreterProblem, installed_beside, program
from ootci.adapters.python_env import device_environment
from ootci.cli.context import Folders, clock, folder_options, format_option, progress
from ootci.cli.nightly import Night, built_here, exit_code, report_night, run_night
from ootci.cli.plan import torch_option
from ootci.cli.test import suites_folder, suites_option
from ootci.errors import BadOption, HostFailure
from ootci.model.build import Build
from ootci.model.device import DEFAULT_FOLDER, Device, RegisteredDevice, load_device, load_registry
from ootci.model.plan import Plan, PlannedRun
from ootci.model.torch_build import Channel, TorchRequest
from ootci.model.verdict import Verdicts
from ootci.stages.build import GivenEnvironment, suite_requirements, take_environment


@click.command("run", short_help="Run every stage for one device file.")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--python",
    metavar="PYTHON",
    help="Test in this Python's environment as it is: nothing is built, installed or changed there. It needs torch, "
    "the plugin, pytest, numpy and expecttest.",
)
@torch_option
@suites_option
@format_option
@folder_options("work", "history", "site")
def run(
    file: Path, python: str | None, torch: str | None, suites_dir: Path | None, output_format: str, folders: Folders
) -> None:
    """Run every stage for the device of FILE on this machine, paused or not, and render its page.

    It is `ootci nightly` for that device alone. The file need not be in a checkout of this repository.
    """
    if python is not None and torch:
        raise BadOption("--python tests the torch that is there", where=f"--torch {torch}", fix="leave one of them out")
    item, suites = load_device(file), suites_folder(suites_dir)
    # Beside the other devices its page stands among theirs; a file of its own is a registry of its own.
    among = file.parent.resolve() == DEFAULT_FOLDER.resolve()
    registry = load_registry(DEFAULT_FOLDER if among else file)
    with locked(folders.work):
        night = Night(registry, [item.device.name], torch, suites, folders, progress())
        if python is None:
            planned, verdicts = run_night(night, built_here)
        else:
            planned, verdicts = _in_environment(night, item.device, program(python))
    report_night(planned, verdicts, folders, output_format)
    sys.exit(exit_code(planned, verdicts))


def _in_environment(night: Night, device: Device, python: Path) -> tuple[Plan, Verdicts]:
    """Run every stage in an environment that is there, with what its user's shell says of it."""
    as_it_is = {"PYTHONNOUSERSITE": "", "PYTHONDONTWRITEBYTECODE": "1"}
    if "PYTHONPATH" in os.environ:
        as_it_is["PYTHONPATH"] = os.environ["PYTHONPATH"]
    env = device_environment(python.parent.parent, {**as_it_is, **device.environment})
    names = ("torch", device.plugin.distribution, *(needed.name for needed in suite_requirements(night.suites)))
    try:
        given = GivenEnvironment(python, installed_beside(python, names, env))
    except InterpreterProblem as problem:
        raise HostFailure(str(problem), where=f"--python {python}", fix="see whether it starts by itself") from problem

    def take(item: RegisteredDevice, run: PlannedRun, night: Night) -> tuple[RegisteredDevice, Build]:
        variables = {**as_it_is, **item.device.environment}
        here = item.model_copy(update={"device": item.device.model_copy(update={"environment": variables})})
        workspace = night.folders.workspace
        return here, take_environment(here, run, given, workspace, night.suites, clock=clock, progress=night.progress)

    return run_night(replace(night, installed=_request(given)), take)


def _request(given: GivenEnvironment) -> TorchRequest:
    version = given.installed.versions["torch"]
    return TorchRequest(
        wanted=Channel.INSTALLED.value,
        wanted_channel=Channel.INSTALLED,
        channel=Channel.INSTALLED,
        version=version,
        unavailable_reason=None if version else "torch is not installed in the environment given",
    )
