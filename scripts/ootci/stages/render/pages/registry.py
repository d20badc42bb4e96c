"""The registry: every device file as it stands."""

from __future__ import annotations

from ootci.model.device import Cadence, Tier
from ootci.model.record import Record
from ootci.model.torch_build import Channel

from .published import Published


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


class RegistryEntry(Record):
    """A device file."""

    device: str
    """Name of the device."""
    display_name: str
    """Its name for people."""
    vendor: str
    """Who makes it."""
    tier: Tier
    """How much it counts."""
    gates: bool
    """Whether it can block a merge."""
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
    """How many ranges of nights say nothing of it."""
    contacts: tuple[Contact, ...]
    """Who answers for it."""
    paused: str | None
    """Why it is not run; null when it is."""
    page: str
    """Address of its page."""


class RegistryFile(Published):
    """registry.json: every device file as it stands."""

    page: str
    """Address of the same for people."""
    devices: tuple[RegistryEntry, ...]
    """In registry order."""
