"""Options of suites that depend on paths."""

from __future__ import annotations

from pathlib import Path

from ootci.model.build import Build
from ootci.model.commit import full_commit
from ootci.model.device import UPSTREAM, RegisteredDevice
from ootci.model.workspace import Workspace


def suite_options(item: RegisteredDevice, build: Build, workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """The options that depend on paths, by suite; for a vendor's suite its whole command."""
    places = {"{device}": item.device.torch_name, "{plugin}": str(_sources(item, workspace))}
    found = {}
    for suite in item.device.suites:
        command = suite.command or ()
        for name, value in places.items():
            command = tuple(word.replace(name, value) for word in command)
        if command:
            found[suite.name] = command
    commit = full_commit(build.torch.git_version if build.torch else None)
    if commit is not None:
        tests = workspace.upstream(commit) / "test"
        found[UPSTREAM] = (f"--upstream-tests={tests.resolve()}",)
    return found


def _sources(item: RegisteredDevice, workspace: Workspace) -> Path:
    """The folder of the plugin's sources; for a plugin that comes as a package it does not exist."""
    plugin = item.device.plugin
    if plugin.path is not None:
        return (item.path.parent / plugin.path).resolve()
    folder = workspace.sources(item.device.name).resolve()
    return folder / plugin.git.subdirectory if plugin.git and plugin.git.subdirectory else folder
