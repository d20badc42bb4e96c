"""The files below ``api/v1`` of a site that say what nights were like; see ``published``."""

from __future__ import annotations

from datetime import date

from ootci.model.build import AnyStage
from ootci.model.outcome import PassRate
from ootci.model.published import Compact
from ootci.model.record import Record, Time
from ootci.model.verdict import VerdictName


class VerdictCount(Record):
    """How many devices of a nightly have a verdict."""

    verdict: VerdictName | None
    """The verdict; null where none is kept any more."""
    devices: int
    """How many devices."""


class NightlyHead(Record):
    """A nightly: one PyTorch on every device."""

    plan_id: str
    """The nightly."""
    planned_at: Time
    """When it was planned."""
    event: str
    """What started it."""
    url: str | None
    """Page of its workflow run."""
    torch: str | None
    """The version of the nightly build that was tested; null when no device said it with its commit."""
    commit: str | None
    """That build's commit."""
    verdicts: tuple[VerdictCount, ...]
    """The devices that it expected, by verdict, what needs a person first."""


class NightlyEntry(NightlyHead):
    """A nightly, and where it stands."""

    path: str
    """Address of its file."""
    page: str
    """Address of its page."""


class NightliesFile(Compact):
    """nightlies.json: every nightly."""

    page: str
    """Address of the newest of them for people."""
    nightlies: tuple[NightlyEntry, ...]
    """Oldest first."""


class NightlyDevice(Record):
    """A device that a nightly expected a report from."""

    device: str
    """Name of the device."""
    verdict: VerdictName | None
    """Its verdict on that nightly; null where it is not kept any more."""
    passed: PassRate | None
    """Tests of the required suites; null where nothing was reported."""
    torch: str | None
    """The version that was installed, or else the one that was going to be."""
    commit: str | None
    """Its commit; null where it is not known."""
    deviation: str | None
    """What was wanted and what was got, where that differs."""
    page: str | None
    """Address of the permanent page of its run; null where there is none."""


class NightlyLeftOut(Record):
    """A device that a nightly did not run."""

    device: str
    """Name of the device."""
    paused: bool
    """Whether its file said so."""
    reason: str
    """Why."""


class CommitsSince(Record):
    """The commits that were new on a nightly."""

    plan_id: str
    """The nightly before whose commit is known."""
    commit: str
    """Its commit."""
    address: str | None
    """Where the commits since are listed; null when there are none."""


class NightlyFile(Compact, NightlyHead):
    """nightlies/<nightly>.json: what became of every device on a nightly."""

    page: str
    """Address of the same for people."""
    since: CommitsSince | None
    """What was new; null when its commit or every earlier one is unknown."""
    devices: tuple[NightlyDevice, ...]
    """By tier, then what needs a person first."""
    left_out: tuple[NightlyLeftOut, ...]
    """Those that were not expected to report."""


class BadNight(Record):
    """Why a night says nothing about a device."""

    reason: str
    """One sentence."""
    link: str | None
    """Where one can read about it."""


class TrendTests(Record):
    """Tests of the required suites, at least one of which was executed."""

    passed: int
    """Tests that passed at first."""
    failing: int
    """Tests that failed at first."""
    executed: int
    """Tests that were executed."""
    collected: int
    """Tests that were collected."""
    passed_again: int
    """Of the failing, those that passed when they were run again with nothing changed."""
    complete: bool
    """Whether every required suite reported completely."""


class StageSeconds(Record):
    """A stage that ran."""

    name: AnyStage
    """The stage."""
    seconds: float
    """How long it took."""


class TrendNight(Record):
    """A day with a nightly that concerned the device."""

    day: date
    """The day, in UTC."""
    plan_id: str
    """Its nightly: the last one with a report, else the last one."""
    verdict: VerdictName | None
    """The verdict; null where it is not kept."""
    page: str | None
    """Address of the permanent page of the run; null where nothing was reported."""
    bad: BadNight | None
    """Why the night says nothing; it has no values then."""
    tests: TrendTests | None
    """Its tests; null when none was executed."""
    duration: float | None
    """Seconds from the first stage's start to the last one's end; null when nothing was reported."""
    queued: float | None
    """Seconds that the run waited for its machine; null when that is not known."""
    stages: tuple[StageSeconds, ...]
    """Every stage that ran."""
    collected_before: int | None
    """How many tests the suites had before; null unless their size changed on that day."""


class TrendFile(Compact):
    """trends/<device>.json: the last three months of a device; days without a nightly of it are not there."""

    device: str
    """Name of the device."""
    page: str
    """Address of the same for people."""
    first: date | None
    """The first day that was looked at; null when there has been no nightly."""
    last: date | None
    """The last day that was looked at."""
    nights: tuple[TrendNight, ...]
    """Oldest first."""
