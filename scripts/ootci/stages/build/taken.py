"""An environment for a plugin that another machine built."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

from ootci.model.build import StageResult, StageStatus
from ootci.model.torch_build import TorchBuild

from .commands import Commands, StepFailed
from .fetch import fetch
from .handover import Received, receive
from .made import NewEnvironment
from .plugin import install_wheel
from .ready import machine_is_ready
from .stamp import Stamp, digest


@dataclass
class TakenOver(NewEnvironment):
    """A virtual environment in the work folder, in which the wheel of a hand-over is installed.

    Attributes:
        handed: folder of the hand-over.
        stated: the checksum of its handover.json, where it is known.

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
        """The other machine's result, with the time that installing the wheel took; this one's where that failed."""
        there = self._built_there
        if there.status is not StageStatus.PASSED:
            return there
        if here.status is not StageStatus.PASSED:
            return here
        return there.model_copy(update={"duration": round(there.duration + here.duration, 3)})

    @property
    def _built_there(self) -> StageResult:
        return self._received.handover.build.stages[1]
