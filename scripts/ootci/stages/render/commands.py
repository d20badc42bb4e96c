"""The commands that reproduce a run, and one of its failures: every page, issue and answer prints these."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Protocol

from ootci.model.build import DIRTY, PluginBuild
from ootci.model.device import Device, RegisteredDevice
from ootci.model.device.running import OURS
from ootci.model.torch_build import Channel, TorchRequest, full_commit

from .facts import file_of, is_here
from .text import one_line

_VERSION = re.compile(r"[\w.+!-]{1,60}", re.ASCII)
"""Characters that are safe in a command that people copy: make expands a `$` whatever quotes are around it."""
_NIGHT = re.compile(r"\.dev(\d{4})(\d{2})(\d{2})")


class Tested(Protocol):
    """The torch and the plugin that were tested: of a run, or of a verdict or a night that was derived from one."""

    @property
    def torch_request(self) -> TorchRequest | None:
        """The torch that was requested."""

    @property
    def plugin(self) -> PluginBuild | None:
        """The plugin; None where none was installed."""


def commands(item: RegisteredDevice, tested: Tested | None, failed: Iterable[str] = ()) -> tuple[str, ...]:
    """Commands that make the same environment, and run the first test of ours of those that failed in it.

    They are for the repository that has the device file. A vendor's has no Makefile and no tests of ours, so there the
    tool's command, which runs every test, is the only one. A comment before it names what no command can pin.

    Args:
        tested: what to pin; None where nothing was tested.
        failed: ids of the tests.

    """
    device = item.device
    request, plugin = (tested.torch_request, tested.plugin) if tested else (None, None)
    pinned = {"torch": _torch(request) if request else None, "plugin": _version(device, plugin) if plugin else None}
    options = {name: shlex.quote(value) for name, value in pinned.items() if value}
    if is_here(item):
        words = ["make nightly", f"DEVICE={device.name}", *(f"{name.upper()}={options[name]}" for name in options)]
    else:
        words = ["ootci nightly", shlex.quote(file_of(item)), *(f"--{name} {options[name]}" for name in options)]
    # A plugin beside its device file has the commit of the checkout.
    commit = full_commit(plugin.commit) if plugin and device.plugin.path is not None else None
    first = f"git checkout {commit} && " * bool(commit) + " ".join(words)
    torch = request if request and request.unavailable_reason is None and "torch" not in options else None
    lost = "; ".join(_not_pinned(device, torch, plugin if not commit and "plugin" not in options else None))
    first = f"# Not exactly what was tested: {lost}.\n" * bool(lost) + first
    test = next(filter(is_ours, failed), None) if is_here(item) else None
    return (first, _again(test, device)) if test else (first,)


def is_ours(test_id: str) -> bool:
    """Whether a test is of the suites that are shipped with the tool, and not of one that a vendor brings."""
    return test_id.partition("/")[0] in OURS


def _again(test_id: str, device: Device) -> str:
    """The command that runs one test again, in the environment that the first command made."""
    venv = f".ootci/envs/{shlex.quote(device.name)}"
    values = {key: shlex.quote(value.replace("{venv}", venv)) for key, value in device.environment.items()}
    variables = "".join(f"{key}={value} " for key, value in values.items())
    test = shlex.quote(f"tests/device/{one_line(test_id)}")
    return f"{variables}{venv}/bin/python -m pytest {test} --device {shlex.quote(device.torch_name)}"


def _not_pinned(device: Device, torch: TorchRequest | None, plugin: PluginBuild | None) -> Iterator[str]:
    """Why the command makes another environment than the tested one."""
    if torch is not None:
        yield "no index has its torch"
    if plugin is not None and (plugin.commit or "").endswith(DIRTY):
        yield "its plugin or device file had uncommitted changes"
    elif plugin is not None:
        yield f"its plugin's {'version' if device.plugin.package else 'commit'} is unknown"


def _version(device: Device, plugin: PluginBuild) -> str | None:
    """The option for the same plugin; None where there is none."""
    if device.plugin.package is not None:
        return plugin.version if _VERSION.fullmatch(plugin.version or "") else None
    return full_commit(plugin.commit) if device.plugin.git is not None else None


def _torch(request: TorchRequest) -> str | None:
    """The option that selects the same torch; None where there is none."""
    night = _NIGHT.search(request.version or "")
    if request.channel is Channel.NIGHTLY:
        return f"nightly@{'-'.join(night.groups())}" if night else None
    if request.channel is Channel.RELEASE and _VERSION.fullmatch(request.version or ""):
        return (request.version or "").partition("+")[0]
    return None
