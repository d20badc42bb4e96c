"""An environment that is made for the device on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ootci.adapters import python_env
from ootci.adapters.process import version_line
from ootci.model.device import Check
from ootci.model.torch_build import TorchBuild

from .commands import Commands
from .fetch import fetch
from .plugin import build_plugin, fetched_plugin
from .ready import machine_is_ready
from .stage import DeviceEnvironment


@dataclass
class NewEnvironment(DeviceEnvironment):
    """A virtual environment in the work folder, for which the plugin is built.

    Nothing is fetched on a machine that is not ready: the device file's check command fails, or the disk is full.

    Attributes:
        tests: whether the device is tested on this machine, too; where not, its hardware is not checked.

    """

    tests: bool = True

    @property
    def path(self) -> Path:
        """Its folder."""
        return self.workspace.environment(self.run.device)

    @property
    def interpreter(self) -> Path:
        """Its Python."""
        return python_env.interpreter(self.path)

    @property
    def python_version(self) -> str | None:
        """The version of its Python."""
        return python_env.python_version(self.path)

    def fetch(self, commands: Commands) -> bool:
        """Make it, with torch and the requirements, and fetch the plugin's sources."""
        self.compiler = version_line("c++")
        device = self.item.device
        check = device.check if self.tests or device.build.runner is None else Check()
        machine_is_ready(check, self.workspace, commands)
        return fetch(self.item, self.run, self.workspace, commands, self.suites, tests=self.tests)

    def torch(self, *, fetched: bool) -> TorchBuild | None:
        """The torch in it; None when there is none, or after a failed fetch another than the planned one."""
        version = python_env.installed_version(self.path, "torch")
        if version is None or not (fetched or version == self.run.torch.version):
            return None
        return TorchBuild(version=version, git_version=python_env.torch_git_version(self.path))

    def install(self, torch: TorchBuild | None, commands: Commands) -> bool:
        """Build the plugin and install its wheel."""
        # The checksum of its sources is recorded of a build that breaks, too.
        self.plugin = fetched_plugin(self.item, self.workspace)
        self.plugin, cached = build_plugin(self.item, torch, self.workspace, commands)
        return cached
