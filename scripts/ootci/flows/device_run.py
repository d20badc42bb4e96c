"""A nightly of one device, in an environment that is there already."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ootci.adapters.interpreter import InterpreterProblem, installed_beside
from ootci.adapters.python_env import as_it_is, device_environment
from ootci.errors import HostFailure
from ootci.flows.context import clock
from ootci.flows.nightly import Night, run_night
from ootci.model.build import Build
from ootci.model.device import Device, RegisteredDevice
from ootci.model.plan import Plan, PlannedRun
from ootci.model.torch_build import Channel, TorchRequest
from ootci.model.verdict import Verdicts
from ootci.stages.build import GivenEnvironment, suite_requirements, take_environment


def run_in_environment(night: Night, device: Device, python: Path) -> tuple[Plan, Verdicts]:
    """Run every stage in an environment that is there, with what its user's shell says of it.

    Raises:
        HostFailure: its Python does not start.

    """
    variables = {**as_it_is(), **device.environment}
    env = device_environment(python.parent.parent, variables)
    names = ("torch", device.plugin.distribution, *(needed.name for needed in suite_requirements(night.suites)))
    try:
        given = GivenEnvironment(python, installed_beside(python, names, env))
    except InterpreterProblem as problem:
        raise HostFailure(str(problem), where=f"--python {python}", fix="see whether it starts by itself") from problem

    def take(item: RegisteredDevice, run: PlannedRun, night: Night) -> tuple[RegisteredDevice, Build]:
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
