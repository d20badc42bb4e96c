"""The registry: every device file as it stands, and what one needs to add another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ootci.model.device import Device, RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.schema import device_schema
from ootci.model.verdict import VerdictName

from .device_keys import DeviceKey, device_keys
from .facts import Fact, contacts, plugin_source
from .links import web_address
from .status import VERDICTS, Status
from .text import one_line
from .words import many

SHORTEST = """\
name: mydevice
display_name: My Device
vendor: My Company
maintainers: ["@me"]
plugin:
  distribution: torch-mydevice
  git: {url: "https://github.com/my-company/torch-mydevice.git"}
"""
"""A device file with nothing but what must be there."""

_RUN_OF_GITHUB = re.compile(r"(https://[^/]+/[^/]+/[^/]+)/actions/runs/\d+")


@dataclass(frozen=True)
class Registered:
    """One device file."""

    name: str
    display_name: str
    vendor: str
    tier: str
    gates: bool
    file: Fact
    plugin: str
    source: Fact
    torch: str
    variant: str
    cadence: str
    labels: str
    suites: str
    claims: tuple[str, ...]
    contacts: tuple[Fact, ...]
    paused: str | None


@dataclass(frozen=True)
class RegistryPage:
    """Everything that the registry shows; ``paused`` is how a device that is not run looks."""

    rows: tuple[Registered, ...]
    paused: Status


@dataclass(frozen=True)
class AddPage:
    """Everything that the page for a new device shows."""

    shortest: str
    keys: tuple[DeviceKey, ...]
    missing: tuple[str, ...]


def registry_page(registry: Sequence[RegisteredDevice], newest: Plan | None) -> RegistryPage:
    """A row for every device file.

    Args:
        registry: every registered device, in registry order.
        newest: the newest nightly; the page of its workflow run says which repository the files are in.

    """
    found = _RUN_OF_GITHUB.match(web_address(newest.trigger.url) or "") if newest else None
    repository = found[1] if found else None
    return RegistryPage(tuple(_row(item, repository) for item in registry), VERDICTS[VerdictName.PAUSED])


def add_page() -> AddPage:
    """What a new device file needs and can have, from the schema itself."""
    keys = device_keys(device_schema())
    return AddPage(SHORTEST, keys, tuple(key.path for key in keys if key.top and key.default is None))


def _row(item: RegisteredDevice, repository: str | None) -> Registered:
    device, path = item.device, f"{item.path.parent.name}/{item.path.name}"
    return Registered(
        name=device.name,
        display_name=one_line(device.display_name, 60),
        vendor=one_line(device.vendor, 60),
        tier=device.tier.value,
        gates=device.gates,
        file=Fact("file", path, web_address(f"{repository}/blob/HEAD/{path}") if repository else None, code=True),
        plugin=one_line(device.plugin.distribution, 60),
        source=plugin_source(device.plugin),
        torch=(device.torch.release or "pinned release") if device.torch.channel.value == "release" else "nightly",
        variant=device.torch.variant,
        cadence=device.cadence.value,
        labels="elsewhere" if device.external else ", ".join(device.runner.labels),
        suites=", ".join(suite.name + ("" if suite.required else " (advisory)") for suite in device.suites),
        claims=_claims(device),
        contacts=contacts(device),
        paused=one_line(device.paused.reason) if device.paused else None,
    )


def _claims(device: Device) -> tuple[str, ...]:
    counted = (
        (len(device.known_failures), "known failure", None),
        (len(device.unsupported), "unsupported capability", "unsupported capabilities"),
        (len(device.bad_ranges), "bad range", None),
    )
    return tuple(many(count, one, more) for count, one, more in counted if count)
