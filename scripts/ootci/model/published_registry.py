"""The files below ``api/v1`` of a site that say who is tested, and whether anybody still is; see ``published``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ootci.model.device import Cadence, Tier
from ootci.model.published import Published
from ootci.model.record import Record, Time
from ootci.model.torch_build import Channel
from ootci.model.verdict import VerdictName


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


class NightlyHealth(Record):
    """What the newest nightly expected and got."""

    plan_id: str
    """The nightly."""
    event: str
    """What started it."""
    url: str | None
    """Page of its workflow run."""
    expected: int
    """How many devices it expected a report from."""
    reported: int
    """How many of them reported."""
    left_out: tuple[str, ...]
    """The others that it names."""
    scheduled_at: Time | None
    """When the last one that the schedule started was planned; null when it never did."""


class DeviceHealth(Record):
    """When a device was last heard of."""

    device: str
    """Name of the device."""
    verdict: VerdictName
    """The verdict."""
    is_control: bool
    """Whether it is expected to be OK or KNOWN on every nightly."""
    cadence: Cadence
    """How often nightlies run it."""
    silent_after: Annotated[int, Field(ge=0)]
    """Seconds: it has no data when the last nightly that ran it is older."""
    planned_at: Time | None
    """When the last nightly that ran it was planned; null before the first."""
    reported_at: Time | None
    """When its last run finished, by the clock of the machine that ran it; null before the first."""
    page: str | None
    """Address of the page of that run."""


class HealthFile(Published):
    """health.json: how old everything is that the site is made from."""

    judged_at: Time
    """The `now` that staleness was judged against."""
    planned_at: Time | None
    """When the newest nightly was planned; null when there has been none."""
    stale_reason: str | None
    """Why the site cannot be trusted to be fresh; null when it was at `judged_at`."""
    stale_at: Time | None
    """When the newest nightly becomes too old: whoever reads this later cannot trust it."""
    page: str
    """Address of the same for people."""
    nightly: NightlyHealth | None
    """The newest nightly; null when there has been none."""
    devices: tuple[DeviceHealth, ...]
    """What needs a person first, within a tier."""
