"""Plans and runs of a device whose file names other torches."""

from __future__ import annotations

from collections.abc import Mapping

from unit.samples import device, on_torch, plan, run

from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.torch_build import Channel, TorchRequest

ALSO = {"also": ["release", "previous_release"]}
RELEASE = {"wanted": "release", "wanted_channel": Channel.RELEASE, "channel": Channel.RELEASE}
GOOD, BAD = {"smoke": {"one": "passed"}}, {"smoke": {"one": "failed"}}


def dev(**values: object) -> RegisteredDevice:
    return device("dev", torch=ALSO, **values)


def planned(number: int, *names: str, **versions: str) -> Plan:
    """The plan of a night, for these devices and for these versions of other torches."""
    both = plan(number, names=(*names, *versions))
    runs = tuple(
        one.model_copy(update={"torch": TorchRequest.model_validate({**RELEASE, "version": versions[one.device]})})
        for one in both.runs
        if one.device in versions
    )
    return both.model_copy(update={"runs": both.runs[: len(names)], "also": runs})


def on(number: int, name: str, version: str, **values: Mapping[str, str]) -> Run:
    return on_torch(run(number, name, **values), version, **RELEASE)
