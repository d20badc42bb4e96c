"""The effect of a pull request, by comparing its runs with the nightly."""

from __future__ import annotations

from enum import Enum

from ootci.model.record import Record
from ootci.model.verdict import GateAnswer, VerdictName


class EffectName(str, Enum):
    """The effect of a pull request on a device, as far as its run shows."""

    NEWLY_BROKEN = "newly_broken"
    """Something fails that did not fail on the newest nightly."""
    INFRA = "infra"
    """The machine, the card or the network was not there: nothing is known of the pull request."""
    NO_DATA = "no_data"
    """It did not report, or there is no nightly to hold it against: nothing is known of the pull request."""
    UNREADABLE = "unreadable"
    """There is a report that could not be read: nothing is known of the pull request."""
    BROKEN_BEFORE = "broken_before"
    """It breaks as it did on the newest nightly, so early that nothing is known of the pull request."""
    NOT_WORSE = "not_worse"
    """Each failure was on the newest nightly too, is known to the vendor, or passed on retry."""


WITHOUT_RESULT = frozenset({EffectName.INFRA, EffectName.NO_DATA, EffectName.UNREADABLE, EffectName.BROKEN_BEFORE})
"""Effects that tell nothing of the pull request: such a device neither blocks it nor vouches for it."""


class Effect(Record):
    """The effect of a pull request on one device."""

    device: str
    """Name of the device."""
    effect: EffectName
    """The effect."""
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
    """Tests that failed and passed on retry."""
    gates: bool
    """Whether the device can close the gate."""
    run_id: str | None = None
    """The run; null when nothing was reported."""
    base: str | None = None
    """The nightly's run that it is compared with."""
    base_torch: str | None = None
    """The torch of that run."""


class PullRequestGate(GateAnswer):
    """May one merge the pull request?"""

    torch: str | None = None
    """The torch that was tested, who built it, and how it differs from the requested commit; null when there
    was none."""
    devices: tuple[Effect, ...]
    """One per device that the pull request's plan expects."""
