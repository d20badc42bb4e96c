"""Devices with another version of their plugin than their files name."""

from __future__ import annotations

from ootci.errors import BadOption
from ootci.model.build import PluginBuild
from ootci.model.device import RegisteredDevice


def holding_commit(item: RegisteredDevice, commit: str) -> RegisteredDevice:
    """The device with its plugin's repository at one commit; the same where the plugin comes from elsewhere."""
    source = item.device.plugin.git
    if source is None:
        return item
    return _with_plugin(item, {"git": source.model_copy(update={"ref": commit})})


def holding_plugin(item: RegisteredDevice, held: PluginBuild) -> RegisteredDevice:
    """The device with the plugin that earlier steps of a bisection tested, if its file can name a version."""
    if item.device.plugin.package is not None:
        return with_plugin(item, held.version or "")
    return holding_commit(item, held.commit) if held.commit else item


def with_plugin(item: RegisteredDevice, version: str) -> RegisteredDevice:
    """The device with another version of its plugin than its file's.

    Args:
        version: a commit, tag or branch of the plugin's repository, or the version of its package.

    Raises:
        BadOption: the plugin is a folder beside the device file.

    """
    plugin = item.device.plugin
    if plugin.package is not None:
        return _with_plugin(item, {"package": f"{plugin.distribution}=={version}"})
    if plugin.git is None:
        raise BadOption(
            f"the plugin of `{item.device.name}` is a folder of the checkout that its device file is in",
            where=f"--plugin {version}",
            fix="check that commit out, and leave --plugin out",
        )
    return holding_commit(item, version)


def _with_plugin(item: RegisteredDevice, values: dict[str, object]) -> RegisteredDevice:
    plugin = item.device.plugin.model_copy(update=values)
    return item.model_copy(update={"device": item.device.model_copy(update={"plugin": plugin})})
