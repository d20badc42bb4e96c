"""What a pull request's runs mean, held against the nightly."""

from __future__ import annotations

from enum import Enum

from pydantic import Field

from ootci.model.record import Record
from ootci.model.verdict import VerdictName


class EffectName(str, Enum):
    """What a pull request does to a device, as far as its run shows."""

    NEWLY_BROKEN = "newly_broken"
    """Something fails that did not fail on the newest nightly."""
    INFRA = "infra"
    """The machine, the card or the network was not there: nothing is known of the pull request."""
    NO_DATA = "no_data"
    """It did not report, or there is no nightly to hold it against: nothing is known of the pull request."""
    BROKEN_BEFORE = "broken_before"
    """It breaks as it did on the newest nightly, so early that nothing is known of the pull request."""
    NOT_WORSE = "not_worse"
    """Whatever fails failed on the newest nightly, is known to the vendor, or passed when it was run again."""


BLOCKING_EFFECTS = frozenset({EffectName.NEWLY_BROKEN, EffectName.INFRA, EffectName.NO_DATA})
"""Effects that close the gate. Who was broken before is no reason to refuse a pull request that has not broken it."""


class Effect(Record):
    """What a pull request does to one device."""

    device: str
    """Name of the device."""
    effect: EffectName
    """What it does."""
    verdict: VerdictName
    """The verdict of its run, as a nightly would have it."""
    reason: str
    """One sentence."""
    newly_failing: int = 0
    """Tests of required suites that fail and neither failed on the nightly nor are known or flaky."""
    first: tuple[str, ...] = ()
    """The first of them."""
    still_failing: int = 0
    """Tests of required suites that failed on the nightly too."""
    known: int = 0
    """Failing tests that the vendor knows of."""
    flaky: int = 0
    """Tests that failed and passed when run again."""
    gates: bool
    """Whether the device can close the gate."""
    run_id: str | None = None
    """The run; null when nothing was reported."""
    base: str | None = None
    """The nightly's run that it is held against."""
    base_torch: str | None = None
    """The torch of that run."""


class PullRequestGate(Record):
    """May one merge the pull request?"""

    may_merge: bool
    """False as soon as one gating device is newly broken, or nothing is known of it."""
    reason: str
    """One sentence."""
    blocking: tuple[str, ...] = ()
    """Names of the devices that block."""
    overridden: dict[str, str] = Field(default_factory=dict)
    """Why a device that would block does not, by name, as whoever asked said."""
    devices: tuple[Effect, ...]
    """One per device that the pull request's plan expects."""
