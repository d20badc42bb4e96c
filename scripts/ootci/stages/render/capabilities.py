"""The matrix of devices and capabilities: what works where, by the run that each device's verdict is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.model.run import CapabilityCounts

from .front import DeviceRow
from .run_view import CountRow, capability_rows

COLUMNS_LIMIT = 60
"""Capabilities that the matrix has room for; the suites have fewer, a hostile report may name any number."""


@dataclass(frozen=True)
class MatrixRow:
    """One device: a cell per capability, None where no test of it was collected; no cells when there is no run."""

    device: DeviceRow
    cells: tuple[CountRow | None, ...]


@dataclass(frozen=True)
class CapabilitiesPage:
    """Everything that the matrix shows."""

    names: tuple[str, ...]
    more: int
    rows: tuple[MatrixRow, ...]


def capabilities_page(
    devices: Sequence[DeviceRow], counts: Mapping[str, Sequence[CapabilityCounts]]
) -> CapabilitiesPage:
    """The matrix, with the devices in the order of the front page.

    Args:
        devices: the front page's rows.
        counts: by device, the tests of the run that its verdict is about.

    """
    found = {name: {row.name: row for row in capability_rows(run)} for name, run in counts.items()}
    names = sorted({name for rows in found.values() for name in rows})
    shown = tuple(names[:COLUMNS_LIMIT])
    return CapabilitiesPage(
        names=shown,
        more=len(names) - len(shown),
        rows=tuple(
            MatrixRow(device, tuple(found[device.name].get(name) for name in shown) if found.get(device.name) else ())
            for device in devices
        ),
    )
