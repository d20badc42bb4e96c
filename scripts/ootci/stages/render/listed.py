"""Devices and tests as lists name them, each with the addresses from the top that it leads to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ootci.model.device import RegisteredDevice

from .links import device_path
from .text import one_line


@dataclass(frozen=True)
class NamedDevice:
    """A device in a list; ``page`` is its folder's address from the top, None where it is not registered."""

    name: str
    display_name: str
    page: str | None
    tier: str = "not registered"
    gates: bool = False


class DeviceNames:
    """The names of all registered devices."""

    def __init__(self, registry: Iterable[RegisteredDevice]) -> None:
        self._found = {
            item.device.name: NamedDevice(
                item.device.name,
                one_line(item.device.display_name, 60),
                device_path(item.device.name),
                item.device.tier.value,
                item.device.gates,
            )
            for item in registry
        }

    def __call__(self, name: str) -> NamedDevice:
        """A device; the file of one that is not registered may be gone, and its pages with it."""
        return self._found.get(name) or NamedDevice(one_line(name, 60), one_line(name, 60), None)


@dataclass(frozen=True)
class ListedTest:
    """A test or a stage, with the addresses from the top where its failure and its nights are shown."""

    id: str
    href: str | None
    nights: str | None
