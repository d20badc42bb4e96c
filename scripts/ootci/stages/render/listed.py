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
class Alike:
    """A cluster as one of its devices sees it.

    Attributes:
        others: other devices that fail so.
        page: the cluster's page, as an address from the top; None where it has none.

    """

    others: int
    page: str | None

    @property
    def words(self) -> str:
        """``only this device``, ``with 3 others``."""
        return "only this device" if not self.others else f"with {self.others} other{'s' * (self.others > 1)}"
