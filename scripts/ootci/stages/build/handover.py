"""The hand-over of a build to another machine, and the environment that tests it there."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from ootci.adapters.download import checksum
from ootci.errors import HostFailure, OotciError
from ootci.model.build import Build, HandedWheel, Handover, Provenance, StageName, StageResult, StageStatus
from ootci.model.plan import PlannedRun
from ootci.model.record import read, write
from ootci.model.torch_build import TorchBuild
from ootci.model.workspace import Workspace

from .commands import Commands, Stamp, StepFailed, digest
from .environment import NewEnvironment
from .fetch import fetch, machine_is_ready
from .plugin import install_wheel

LOGS = ("fetch.log", "build.log")


@dataclass(frozen=True)
class Received:
    """A hand-over whose checksums are correct."""

    handover: Handover
    folder: Path

    @property
    def wheel(self) -> Path | None:
        """The plugin's wheel; None when it was not built."""
        return self.folder / self.handover.wheels[0].name if self.handover.wheels else None

    def require_torch(self, here: TorchBuild | None) -> None:
        """Check that this machine's torch is the one that the plugin was built against.

        Raises:
            StepFailed: it is another one.

        """
        there = self.handover.build.torch
        if there != here:
            names = [f"{torch.version} of {torch.git_version}" if torch else "none" for torch in (there, here)]
            raise StepFailed(f"the plugin was built against torch {names[0]}, this machine has {names[1]}")


def hand_over(build: Build, workspace: Workspace, target: Path, provenance: Provenance) -> str:
    """Write a build, passed or failed, with wheel and logs into a folder; gives handover.json's checksum.

    Raises:
        HostFailure: the wheel is not in the work folder any more.

    """
    target.mkdir(parents=True, exist_ok=True)
    for old in target.glob("*.whl"):
        old.unlink()
    wheels = []
    if build.plugin is not None and build.plugin.wheel is not None and build.plugin.sha256 is not None:
        found = workspace.wheels(build.device).glob(f"*/{build.plugin.wheel}")
        wheel = next((path for path in found if checksum(path) == build.plugin.sha256), None)
        if wheel is None:
            raise HostFailure(
                f"the wheel {build.plugin.wheel} that was built earlier is gone",
                where=str(workspace.wheels(build.device)),
                fix=f"remove {workspace.environment(build.device)} and build again",
            )
        shutil.copyfile(wheel, target / wheel.name)
        wheels.append(HandedWheel(name=wheel.name, sha256=build.plugin.sha256))
    (target / "logs").mkdir(exist_ok=True)
    for log in LOGS:
        if (workspace.run(build.device).logs / log).is_file():
            shutil.copyfile(workspace.run(build.device).logs / log, target / "logs" / log)
    # The path of the environment is meaningless on another machine.
    record = Handover(build=build.model_copy(update={"python": None}), wheels=tuple(wheels), provenance=provenance)
    write(record, target / Handover.FILE)
    return checksum(target / Handover.FILE)


def receive(folder: Path, stated: str | None, run: PlannedRun) -> Received:
    """Read a hand-over and verify its checksums.

    Args:
        folder: its folder, or the folder above it.
        stated: the checksum of handover.json that the building machine printed; None when it is not known.

    Raises:
        StepFailed: there is none, it is of another run, a checksum is wrong, or fetching failed there: never the
            plugin's fault.

    """
    folder = folder.resolve()
    file = next((path for path in (folder / Handover.FILE, *folder.glob(f"*/{Handover.FILE}")) if path.is_file()), None)
    if file is None:
        raise StepFailed("nothing was handed over by the machine that builds the plugin")
    _require(file, stated)
    try:
        handover = read(Handover, file)
    except OotciError as error:
        raise StepFailed(f"what was handed over cannot be read: {error.what}") from error
    built = handover.build
    if (built.run_id, built.device) != (run.run_id, run.device):
        raise StepFailed(f"what was handed over is of the run {built.run_id}, planned is {run.run_id}")
    if [stage.name for stage in built.stages] != [StageName.FETCH, StageName.BUILD]:
        raise StepFailed("what was handed over lacks the results of fetching and building")
    for wheel in handover.wheels:
        _require(file.parent / wheel.name, wheel.sha256)
    if built.stages[0].status is not StageStatus.PASSED:
        raise StepFailed(f"on {handover.provenance}: {built.stages[0].reason}", built.stages[0].excerpt)
    return Received(handover, file.parent)


def _require(file: Path, stated: str | None) -> None:
    if file.is_symlink() or not file.is_file():
        raise StepFailed(f"the hand-over has no {file.name}")
    if stated is not None and (got := checksum(file)) != stated:
        raise StepFailed(
            f"{file.name} is not what was handed over: its SHA-256 is {got}, the machine that builds told {stated}"
        )


@dataclass
class TakenOver(NewEnvironment):
    """A virtual environment in the work folder, in which the wheel of the hand-over in a folder is installed.

    The checksum of its handover.json is ``stated`` where it is known.
    """

    handed: Path = field(kw_only=True)
    stated: str | None = None
    _received: Received = field(init=False)

    def fetch(self, commands: Commands) -> bool:
        """Check the hand-over, and make the environment with the torch that the plugin was built against."""
        machine_is_ready(self.item.device.check, self.workspace, commands)
        self._received = receive(self.handed, self.stated, self.run)
        cached = fetch(self.item, self.run, self.workspace, commands, self.suites, builds=False)
        self._received.require_torch(self.torch(fetched=True))
        there = self._received.handover
        self.plugin, self.compiler, self.built_on = there.build.plugin, there.build.compiler, str(there.provenance)
        return cached

    def install(self, torch: TorchBuild | None, commands: Commands) -> bool:
        """Install the wheel, unless building it failed on the other machine."""
        there = self._received.folder / "logs" / commands.log_file.name
        if there.is_file() and not there.is_symlink():
            shutil.copyfile(there, commands.log_file)
        if self._built_there.status is not StageStatus.PASSED:
            return False
        wheel, stamp = self._received.wheel, Stamp.of(commands.environment)
        if self.plugin is None or wheel is None:
            raise StepFailed("the plugin was built, but no wheel was handed over")
        key = digest("handed over", self._received.handover.wheels[0].sha256)
        if stamp.build == key:
            return True
        install_wheel(wheel, torch, commands)
        Stamp(fetch=stamp.fetch, build=key, plugin=self.plugin).save(commands.environment)
        return False

    def build_result(self, here: StageResult) -> StageResult:
        """The other machine's result plus the time of installing the wheel; this machine's result if that failed."""
        there = self._built_there
        if there.status is not StageStatus.PASSED:
            return there
        if here.status is not StageStatus.PASSED:
            return here
        return there.model_copy(update={"duration": round(there.duration + here.duration, 3)})

    @property
    def _built_there(self) -> StageResult:
        return self._received.handover.build.stages[1]
