"""How the nights of devices went over three months."""

from __future__ import annotations

from datetime import date

from ootci.model.build import AnyStage
from ootci.model.record import Record
from ootci.model.verdict import VerdictName

from .published import Compact


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
