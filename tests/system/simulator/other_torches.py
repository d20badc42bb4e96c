"""Some invented devices on releases, in the sample site only: the verdicts of the year do without them.

What a device does on a release is what it last did on a nightly when all was well, but for those in ``BROKEN``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ootci.model.build import StageStatus
from ootci.model.device import Cadence, RegisteredDevice, on_other_torches
from ootci.model.outcome import OutcomeName
from ootci.model.plan import PlannedRun
from ootci.model.run import Run
from ootci.model.torch_build import Channel, OtherTorch, TorchBuild, TorchRequest

from .builds import PREVIOUS, RELEASE
from .world import Night, World

BOTH = tuple(OtherTorch)
ALSO = {
    "openreg": BOTH,
    "borealis": BOTH,
    "cobalt": BOTH,
    "ember": BOTH,
    "alder": (OtherTorch.RELEASE,),
    "garnet": BOTH,
    "marble": (OtherTorch.PREVIOUS_RELEASE,),
    "opal": BOTH,
    "quartz": (OtherTorch.RELEASE,),
}
RELEASES = (0.0, (PREVIOUS, "2.11.0")), (0.6, (RELEASE, PREVIOUS))
"""The newest release and the one before, from which part of the whole time on."""
BROKEN = {"garnet_previous_release": 2, "opal_release": 1, "ember_previous_release": 3}
"""How many tests of integration fail, by the name of the run."""


def with_also(registry: Iterable[RegisteredDevice]) -> tuple[RegisteredDevice, ...]:
    """The devices as files say that name other torches."""
    found = []
    for item in registry:
        torch = item.device.torch.model_copy(update={"also": ALSO.get(item.device.name, ())})
        found.append(item.model_copy(update={"device": item.device.model_copy(update={"torch": torch})}))
    return tuple(found)


def with_other_torches(night: Night, world: World) -> Night:
    """A night with the runs on other torches, where it is a Sunday."""
    if not Cadence.WEEKLY.is_due(night.plan.created_at):
        return night
    planned = tuple(_planned(night, world))
    plan = night.plan.model_copy(update={"also": planned})
    reported = [run for one in planned for run in _reported(one, night, world)]
    return replace(night, plan=plan, arrivals=(*night.arrivals, *reported))


def _planned(night: Night, world: World) -> Iterator[PlannedRun]:
    released = next(names for part, names in reversed(RELEASES) if night.number >= part * world.nights)
    for item in with_also(night.registry):
        for device in on_other_torches(item.device):
            if device.paused is None:
                request = TorchRequest(
                    wanted=device.other.value,
                    wanted_channel=Channel.RELEASE,
                    channel=Channel.RELEASE,
                    version=f"{released[BOTH.index(device.other)]}+{device.torch.variant}",
                )
                other = item.model_copy(update={"device": device})
                yield PlannedRun.of(other, f"{night.plan.id}-{device.name}", request)


def _reported(planned: PlannedRun, night: Night, world: World) -> Iterator[Run]:
    of = next(number for number, maker in enumerate(world.makers) if planned.device.startswith(f"{maker.name}_"))
    for number in range(night.number, -1, -1):
        is_well = not world.condition(of, number).causes and world.condition(of, number).cut is None
        run = next(iter(world.runs(of, number)), None)
        if run is None or not is_well or any(stage.broke for stage in run.stages):
            continue
        later = world.planned_at(night.number) - world.planned_at(number)
        stages = tuple(
            stage.model_copy(update={"started_at": stage.started_at + later if stage.started_at else None})
            for stage in run.stages
        )
        moved = {name: getattr(run, name) + later for name in ("queued_at", "started_at", "finished_at")}
        told = {
            "id": planned.run_id,
            "plan_id": night.plan.id,
            "device": planned.device,
            "torch_request": planned.torch,
            "torch": TorchBuild(version=planned.torch.version or ""),
            "stages": stages,
        }
        yield _broken(run.model_copy(update={**told, **moved}), BROKEN.get(planned.device, 0))
        return


def _broken(run: Run, count: int) -> Run:
    """The run with so many failing tests of integration."""
    if not count:
        return run
    failing = {item.id for item in [one for one in run.outcomes if one.suite == "integration"][:count]}
    fails = {"outcome": OutcomeName.FAILED, "message": "RuntimeError: this release lacks c10::report_overflow"}
    outcomes = tuple(item.model_copy(update=fails) if item.id in failing else item for item in run.outcomes)
    reason = {"status": StageStatus.FAILED, "reason": f"{count} tests failed", "only_tests": True}
    stages = tuple(item.model_copy(update=reason) if item.name == "integration" else item for item in run.stages)
    return run.model_copy(update={"outcomes": outcomes, "stages": stages}).recounted()
