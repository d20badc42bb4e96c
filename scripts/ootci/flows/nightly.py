"""A nightly on one machine, for chosen devices: planned, built, tested, collected, judged and rendered."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ootci.adapters.progress import Progress
from ootci.adapters.python_env import Installed, InterpreterProblem, as_it_is, installed_beside
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, HostFailure, OotciError
from ootci.flows.context import Folders, attempt_number, clock
from ootci.flows.planning import make_plan
from ootci.flows.reports import append_workspace, take_in
from ootci.history.store import History
from ootci.model.build import Build, StageResult
from ootci.model.device import Device, RegisteredDevice, with_other_torches
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import write
from ootci.model.torch_build import Channel, TorchRequest
from ootci.model.verdict import AS_EXPECTED, VerdictName, Verdicts
from ootci.stages import render
from ootci.stages.build import GivenEnvironment, NewEnvironment, build, suite_requirements
from ootci.stages.collect import collect
from ootci.stages.judge import judge
from ootci.stages.test import suite_options, test


@dataclass(frozen=True)
class Night:
    """The parameters of a nightly.

    Attributes:
        chosen: names of the devices to run; empty means all that are due.
        torch: what was requested; None leaves it to the device files.
        say_stages: called with the results of the stages of each device.
        installed: the torch of an environment that is there already, in place of ``torch``.
        also: whether devices are run on the torches of `torch.also`, too.

    """

    registry: tuple[RegisteredDevice, ...]
    chosen: Sequence[str]
    torch: str | None
    suites: Path
    folders: Folders
    progress: Progress
    say_stages: Callable[[Sequence[StageResult]], None]
    installed: TorchRequest | None = None
    also: bool = False


Preparation = Callable[[RegisteredDevice, PlannedRun, Night], tuple[RegisteredDevice, Build]]
"""Prepares an environment for a device; returns the device file to test with and the build."""


def built_here(item: RegisteredDevice, run: PlannedRun, night: Night) -> tuple[RegisteredDevice, Build]:
    """Make the device's environment and plugin on this machine."""
    environment = NewEnvironment(item, run, night.folders.workspace, night.suites)
    return item, build(environment, clock=clock, progress=night.progress)


def run_night(night: Night, prepare: Preparation = built_here) -> tuple[Plan, Verdicts]:
    """Run every stage; the caller holds the lock of the work folder."""
    folders = night.folders
    planned = make_plan(
        night.registry,
        folders,
        night.progress,
        chosen=night.chosen,
        torch=night.torch,
        installed=night.installed,
        also=night.also,
    )
    by_name = {item.device.name: item for item in with_other_torches(night.registry)}
    take_in(planned, night.registry, folders, night.progress.say)
    for run in planned.every_run:
        if run.external is None:
            _one_device(by_name[run.device], run, planned, night, prepare)
    append_workspace(folders.workspace, History(folders.history), night.progress.say)
    with night.progress.step("judge and render"):
        verdicts = judge(night.registry, History(folders.history), clock())
        write(verdicts, folders.workspace.verdicts)
        render.render(night.registry, History(folders.history), verdicts, folders.site)
    return planned, verdicts


def _one_device(
    registered: RegisteredDevice, run: PlannedRun, planned: Plan, night: Night, prepare: Preparation
) -> None:
    """Build, test and collect one device. An error must not keep the next device from running."""
    workspace, progress = night.folders.workspace, night.progress
    folder = workspace.run(run.device)
    try:
        item, built = prepare(registered, run, night)
        night.say_stages(built.stages)
        shutil.rmtree(folder.shards, ignore_errors=True)
        options = suite_options(item, built, workspace)
        tested = test(
            item.device, built, folder, night.suites, clock=clock, progress=progress, planned=run, options=options
        )
        night.say_stages(tested)
        collect(item.device, planned, folder, now=clock(), attempt=attempt_number())
    except OotciError as error:
        for line in (f"{run.device}: {error.id}: {error.what}", *error.rest):
            progress.say(line)
    except Exception:  # the device becomes NO_DATA, and the defect is shown
        for line in f"{run.device}: a defect of ootci itself, please report it:\n{traceback.format_exc()}".splitlines():
            progress.say(line)


def exit_code(planned: Plan, verdicts: Verdicts) -> int:
    """The exit code from the verdicts of the devices that ran."""
    found = {item.device: item.verdict for item in verdicts.devices}
    found |= {item.run_as: item.verdict for item in verdicts.also}
    bad = {found[run.device] for run in planned.every_run} - AS_EXPECTED
    if not bad:
        return EXIT_FINE
    return EXIT_INFRASTRUCTURE if bad <= {VerdictName.INFRA} else EXIT_DEVICE


def run_in_environment(night: Night, device: Device, python: Path) -> tuple[Plan, Verdicts]:
    """Run every stage in an existing environment, with the variables of the user's shell.

    Raises:
        HostFailure: its Python does not start.

    """
    variables = {**as_it_is(), **device.environment}
    names = ("torch", device.plugin.distribution, *(needed.name for needed in suite_requirements(night.suites)))
    try:
        installed = installed_beside(python, names, variables)
    except InterpreterProblem as problem:
        raise HostFailure(str(problem), where=f"--python {python}", fix="see whether it starts by itself") from problem

    def take(item: RegisteredDevice, run: PlannedRun, night: Night) -> tuple[RegisteredDevice, Build]:
        here = item.model_copy(update={"device": item.device.model_copy(update={"environment": variables})})
        given = GivenEnvironment(here, run, night.folders.workspace, night.suites, python, installed)
        return here, build(given, clock=clock, progress=night.progress)

    return run_night(replace(night, installed=_request(installed)), take)


def _request(installed: Installed) -> TorchRequest:
    version = installed.versions["torch"]
    return TorchRequest(
        wanted=Channel.INSTALLED.value,
        wanted_channel=Channel.INSTALLED,
        channel=Channel.INSTALLED,
        version=version,
        unavailable_reason=None if version else "torch is not installed in the environment given",
    )
