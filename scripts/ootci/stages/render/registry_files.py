"""Who is tested, and whether anybody still is, for programs: the same as on the pages of the registry and of health."""

from __future__ import annotations

from collections.abc import Sequence

from ootci.model.device import Device, RegisteredDevice

from .links import device_path
from .pages.registry import Contact, RegisteredSuite, RegistryEntry, RegistryFile
from .registry_page import Registered, RegistryPage

_TOP = "../../"


def registry_file(registry: Sequence[RegisteredDevice], page: RegistryPage) -> bytes:
    """Every device file.

    Args:
        registry: every registered device, in registry order.
        page: the same as it is shown.

    """
    devices = tuple(_entry(item.device, row) for item, row in zip(registry, page.rows, strict=True))
    return RegistryFile(page=f"{_TOP}devices/index.html", devices=devices).to_json().encode("utf-8")


def _entry(device: Device, row: Registered) -> RegistryEntry:
    return RegistryEntry(
        device=device.name,
        display_name=device.display_name,
        vendor=device.vendor,
        tier=device.tier,
        gates=device.gates,
        file=row.file.value,
        file_address=row.file.href,
        distribution=device.plugin.distribution,
        source=row.source.value,
        source_address=row.source.href,
        channel=device.torch.channel,
        release=device.torch.release,
        variant=device.torch.variant,
        cadence=device.cadence,
        labels=device.runner.labels,
        suites=tuple(RegisteredSuite(name=suite.name, required=suite.required) for suite in device.suites),
        known_failures=len(device.known_failures),
        unsupported=tuple(item.capability.value for item in device.unsupported),
        bad_ranges=len(device.bad_ranges),
        contacts=tuple(Contact(kind=fact.label, text=fact.value, address=fact.href) for fact in row.contacts),
        paused=device.paused.reason if device.paused else None,
        page=f"{_TOP}{device_path(device.name)}",
    )
