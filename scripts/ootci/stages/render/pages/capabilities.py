"""The matrix of devices and capabilities: what works where, by the run that each device's verdict is about."""

from __future__ import annotations

from ootci.model.capability import CapabilityState
from ootci.model.outcome import Counts
from ootci.model.record import Record

from .published import Compact


class CapabilityEntry(Record):
    """A capability of a device of which tests were collected."""

    capability: str
    """The capability."""
    state: CapabilityState
    """What its tests say together."""
    counts: Counts
    """Its tests by outcome, whichever suites they belong to."""


class DeviceCapabilities(Record):
    """A device, by the run that its verdict is about."""

    device: str
    """Name of the device."""
    page: str
    """Address of its page."""
    capabilities: tuple[CapabilityEntry, ...]
    """By name; empty when nothing was reported."""


class CapabilitiesFile(Compact):
    """capabilities.json: the matrix of devices and capabilities."""

    page: str
    """Address of the same for people."""
    capabilities: tuple[str, ...]
    """Every capability of which any device collected a test."""
    more: int
    """How many were left out because there were too many."""
    devices: tuple[DeviceCapabilities, ...]
    """What needs a person first, within a tier."""
