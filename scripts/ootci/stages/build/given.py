"""An environment that is there already, with torch and the plugin in it. Nothing is installed or changed in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ootci.adapters.interpreter import Installed
from ootci.model.build import PluginBuild
from ootci.model.device import UPSTREAM
from ootci.model.torch_build import TorchBuild

from .commands import Commands, StepFailed
from .ready import machine_is_ready
from .stage import DeviceEnvironment
from .suite_requirements import suite_requirements
from .upstream import fetch_upstream


@dataclass
class GivenEnvironment(DeviceEnvironment):
    """An environment that the user set up.

    Attributes:
        installed: the packages in it.

    """

    python: Path
    installed: Installed

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        return self.python

    @property
    def python_version(self) -> str:
        """The version of its Python."""
        return self.installed.python_version

    def fetch(self, commands: Commands) -> bool:
        """Look whether it has the Python, the torch and the requirements that the run needs."""
        device = self.item.device
        self.plugin = PluginBuild(
            package=device.plugin.distribution,
            version=self.installed.versions.get(device.plugin.distribution),
            source="installed in the environment given",
        )
        machine_is_ready(device.check, self.workspace, commands)
        if self.run.torch.unavailable_reason:
            raise StepFailed(self.run.torch.unavailable_reason)
        if device.python is not None and device.python != ".".join(self.python_version.split(".")[:2]):
            raise StepFailed(
                f"the environment given has Python {self.python_version}, the device file asks for {device.python}"
            )
        self._require_suites_can_run()
        if any(suite.name == UPSTREAM for suite in device.suites):
            fetch_upstream(self.installed.torch_git_version, self.workspace, commands)
        return True

    def torch(self, *, fetched: bool) -> TorchBuild | None:
        """The torch in it."""
        version = self.installed.versions.get("torch")
        return TorchBuild(version=version, git_version=self.installed.torch_git_version) if version else None

    def install(self, torch: TorchBuild | None, commands: Commands) -> bool:
        """Look whether the plugin is installed."""
        if self.plugin is None or self.plugin.version is None:
            name = self.item.device.plugin.distribution
            raise StepFailed(f"`{name}` (`plugin.distribution`) is not installed in the environment given")
        return True

    def _require_suites_can_run(self) -> None:
        missing, found = [], []
        for needed in suite_requirements(self.suites):
            version = self.installed.versions.get(needed.name)
            if version is None or not needed.specifier.contains(version, prereleases=True):
                missing.append(str(needed))
                found.append(f"{needed.name} {version}" if version else f"no {needed.name}")
        if missing:
            asked = " ".join(f"'{text}'" for text in missing)
            raise StepFailed(
                f"the environment given has {' and '.join(found)}, the suites need {' and '.join(missing)}: "
                f"`python -m pip install {asked}` in it"
            )
