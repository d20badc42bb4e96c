"""The environments that a device is tested in: one that is created here, and an existing one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ootci.adapters import python_env
from ootci.adapters.process import version_line
from ootci.adapters.python_env import Installed
from ootci.model.build import PluginBuild
from ootci.model.device import UPSTREAM, Check
from ootci.model.torch_build import TorchBuild

from .commands import Commands, StepFailed
from .fetch import fetch, fetch_upstream, machine_is_ready, suite_requirements
from .plugin import build_plugin, fetched_plugin
from .stage import DeviceEnvironment


@dataclass
class NewEnvironment(DeviceEnvironment):
    """A virtual environment in the work folder, for which the plugin is built.

    Nothing is fetched if the machine is not ready: the check command of the device file fails, or the disk is full. The
    hardware is not checked if the device is tested on another machine.
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
        """Create it with torch and the requirements, and fetch the plugin's sources."""
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
        # Recorded before the build, which may fail.
        self.plugin = fetched_plugin(self.item, self.workspace, self.run.plugin_before)
        self.plugin, cached = build_plugin(self.item, self.plugin, torch, self.workspace, commands)
        return cached


@dataclass
class GivenEnvironment(DeviceEnvironment):
    """An environment that the user set up, with torch and the plugin in it. Nothing is installed or changed in it."""

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
        """Check that it has the Python, the torch and the requirements of the run."""
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
                f"the environment given has Python {self.python_version}, the device file requires {device.python}"
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
        """Check that the plugin is installed."""
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
