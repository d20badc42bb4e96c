"""The matrix of devices and capabilities: what works where, by the run that each device's verdict is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ootci.model.capability import CapabilityState
from ootci.model.outcome import Counts
from ootci.model.record import Record
from ootci.model.run import CapabilityCounts

from ..links import device_path
from ..page_maker import PageMaker
from ..publish import File
from ..text import one_line
from .published import Compact, WithPage, api_file

COLUMNS_LIMIT = 60
"""Capabilities that the matrix has room for; the suites have fewer, a hostile report may name any number."""
_TOP = "../../"


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


class CapabilitiesFile(WithPage, Compact):
    """capabilities.json: the matrix of devices and capabilities."""

    capabilities: tuple[str, ...]
    """Every capability of which any device collected a test."""
    more: int
    """How many were left out because there were too many."""
    devices: tuple[DeviceCapabilities, ...]
    """What needs a person first, within a tier."""


def capabilities_page(
    maker: PageMaker, devices: Sequence[str], counts: Mapping[str, Sequence[CapabilityCounts]]
) -> Iterator[File]:
    """The matrix and its file; ``devices`` are in the order of the front page."""
    found = {
        name: {one_line(item.capability, 60): item for item in run if item.capability} for name, run in counts.items()
    }
    names = sorted({name for cells in found.values() for name in cells})
    file = CapabilitiesFile(
        page=f"{_TOP}capabilities/index.html",
        capabilities=tuple(names[:COLUMNS_LIMIT]),
        more=len(names[COLUMNS_LIMIT:]),
        devices=tuple(_device(name, found.get(name, {}), names[:COLUMNS_LIMIT]) for name in devices),
    )
    yield maker.show("capabilities/index.html", "capabilities.html", page=file, cells=found)
    yield api_file("capabilities.json", file)


def _device(name: str, cells: Mapping[str, CapabilityCounts], shown: Sequence[str]) -> DeviceCapabilities:
    entries = (
        CapabilityEntry(capability=capability, state=cells[capability].state, counts=cells[capability].counts)
        for capability in shown
        if capability in cells
    )
    return DeviceCapabilities(device=name, page=f"{_TOP}{device_path(name)}", capabilities=tuple(entries))
