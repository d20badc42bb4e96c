"""The registry: every device file as it is written; and the page for a new one, with every key of its schema."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ootci.model.device import Cadence, RegisteredDevice
from ootci.model.device.reference import device_keys
from ootci.model.plan import Plan
from ootci.model.record import Record
from ootci.model.torch_build import Channel
from ootci.model.verdict import VerdictName

from ..facts import contacts, plugin_source
from ..links import web_address
from ..page_maker import PageMaker
from ..publish import File
from ..status import VERDICTS
from .published import Published, RegisteredEntry, WithPage, api_file

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
_TOP = "../../"
_RUN_OF_GITHUB = re.compile(r"(https://[^/]+/[^/]+/[^/]+)/actions/runs/\d+")


class RegisteredSuite(Record):
    """A suite that is run on a device."""

    name: str
    """Its name."""
    required: bool
    """False for an advisory suite: shown, but it does not decide the verdict."""


class Contact(Record):
    """Who answers for a device, or where to read more."""

    kind: str
    """`maintainer`, `issues`, `source`, `documentation` or `homepage`."""
    text: str
    """A handle, or the address as it is shown."""
    address: str | None
    """Where it leads."""


class RegistryEntry(RegisteredEntry):
    """A device file."""

    file: str
    """The file's place in the repository."""
    file_address: str | None
    """The file on the web; null where the repository is not known."""
    distribution: str
    """Name of the plugin's Python distribution."""
    source: str
    """Where the plugin comes from."""
    source_address: str | None
    """The same as an address, where it is one."""
    channel: Channel
    """Where torch comes from."""
    release: str | None
    """The release of torch that is wanted, where it is one."""
    variant: str
    """The build variant of torch."""
    cadence: Cadence
    """How often nightlies run it."""
    labels: tuple[str, ...]
    """What its runner must have."""
    suites: tuple[RegisteredSuite, ...]
    """What is run."""
    known_failures: int
    """How many entries its list of known failures has."""
    unsupported: tuple[str, ...]
    """Capabilities that it is declared not to have."""
    bad_ranges: int
    """How many ranges of nights are excluded for it."""
    contacts: tuple[Contact, ...]
    """Who answers for it."""
    paused: str | None
    """Why it is not run; null when it is."""


class RegistryFile(WithPage, Published):
    """registry.json: every device file as it is written."""

    devices: tuple[RegistryEntry, ...]
    """In registry order."""


def registry_page(maker: PageMaker, newest: Plan | None) -> Iterator[File]:
    """The registry and its file."""
    file = registry_file(maker.registry, newest)
    elsewhere = {item.device.name for item in maker.registry if item.device.external}
    yield maker.show(
        "devices/index.html", "registry.html", page=file, elsewhere=elsewhere, paused=VERDICTS[VerdictName.PAUSED]
    )
    yield api_file("registry.json", file)


def registry_file(registry: Sequence[RegisteredDevice], newest: Plan | None) -> RegistryFile:
    """Every device file; the address of the newest nightly's workflow run names their repository."""
    found = _RUN_OF_GITHUB.match(web_address(newest.trigger.url) or "") if newest else None
    devices = (_entry(item, "/".join(item.path.parts[-2:]), found[1] if found else None) for item in registry)
    return RegistryFile(page=f"{_TOP}devices/index.html", devices=tuple(devices))


def _entry(item: RegisteredDevice, path: str, repository: str | None) -> RegistryEntry:
    device, source = item.device, plugin_source(item)
    return RegistryEntry(
        **RegisteredEntry.of(device),
        file=path,
        file_address=web_address(f"{repository}/blob/HEAD/{path}") if repository else None,
        distribution=device.plugin.distribution,
        source=source.value,
        source_address=source.href,
        channel=device.torch.channel,
        release=device.torch.release,
        variant=device.torch.variant,
        cadence=device.cadence,
        labels=device.runner.labels,
        suites=tuple(RegisteredSuite(name=suite.name, required=suite.required) for suite in device.suites),
        known_failures=len(device.known_failures),
        unsupported=tuple(item.capability.value for item in device.unsupported),
        bad_ranges=len(device.bad_ranges),
        contacts=tuple(Contact(kind=fact.label, text=fact.value, address=fact.href) for fact in contacts(device)),
        paused=device.paused.reason if device.paused else None,
    )


def add_page(maker: PageMaker) -> File:
    """What a new device file needs and can have."""
    keys = device_keys()
    missing = tuple(key.path for key in keys if key.top and key.default is None)
    return maker.show("devices/add/index.html", "add.html", shortest=SHORTEST, keys=keys, missing=missing)
