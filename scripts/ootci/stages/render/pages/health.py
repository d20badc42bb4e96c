"""The watcher's page: how old everything is that the other pages are made from, and what is kept of it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ootci.model.device import Cadence
from ootci.model.record import Record, Time
from ootci.model.verdict import VerdictName

from .published import Published


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
