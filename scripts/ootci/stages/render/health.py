"""The watcher's page: how old everything is that the other pages are made from, and what is kept of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ootci.history.gc import MEASURES_RUNS, TEXTS_NIGHTS
from ootci.model.device import Cadence, RegisteredDevice, Tier
from ootci.model.plan import Plan
from ootci.model.verdict import DeviceVerdict, VerdictName, Verdicts

from .facts import Fact
from .front import in_order, verdict_of_each
from .links import web_address
from .status import VERDICTS, Status
from .text import one_line
from .words import age, many, moment

SCHEDULE = "schedule"
"""The event of a nightly that started by itself."""


@dataclass(frozen=True)
class LastReport:
    """The newest report of a device.

    Attributes:
        at: when the run finished, by the clock of the machine that ran it.
        href: its page, relative to the site.

    """

    at: datetime
    href: str


@dataclass(frozen=True)
class Moment:
    """A time, and how long before the page was built it was."""

    at: datetime
    age: str


@dataclass(frozen=True)
class Watched:
    """What one device last did, and how long it may be silent.

    Attributes:
        cadence: how often nightlies run it; it has no data when the last nightly that ran it is older than that allows.
        planned: the last nightly that ran it; null before the first.
        reported: its last report; null before the first.
        href: the page of the last report.

    """

    name: str
    display_name: str
    verdict: VerdictName
    reason: str
    is_control: bool
    cadence: Cadence
    planned: Moment | None
    reported: Moment | None
    href: str | None

    @property
    def status(self) -> Status:
        """The verdict as it is shown."""
        return VERDICTS[self.verdict]

    @property
    def silent_after(self) -> str:
        """How old the last nightly that ran it may be."""
        return _limit(self.cadence)


@dataclass(frozen=True)
class Newest:
    """What the newest nightly expected and got; ``by_itself`` is the last one that the schedule started."""

    plan: Plan
    expected: int
    reported: int
    by_itself: Moment | None

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The same in words."""
        plan, last = self.plan, self.by_itself
        left_out = ", ".join(f"{item.device} ({item.reason})" for item in plan.left_out)
        return (
            Fact("nightly", plan.id, code=True),
            Fact("started by", plan.trigger.event, web_address(plan.trigger.url)),
            Fact("by schedule", f"last {moment(last.at)}, {last.age} before this page" if last else "never yet"),
            Fact("reported", f"{self.reported} of {many(self.expected, 'expected device')}"),
            Fact("left out", left_out or "none"),
        )


@dataclass(frozen=True)
class HealthPage:
    """Everything that the health page shows."""

    nightly: Moment | None
    limit: str
    rows: tuple[Watched, ...]
    newest: Newest | None
    texts_nights: int
    measures_runs: int

    @property
    def controls(self) -> tuple[Watched, ...]:
        """The devices of the tier reference."""
        return tuple(row for row in self.rows if row.is_control)


def health_page(
    registry: Sequence[RegisteredDevice],
    verdicts: Verdicts,
    plans: Sequence[Plan],
    reports: Mapping[str, LastReport],
    pages: Mapping[str, Mapping[str, str]],
) -> HealthPage:
    """The health page.

    Args:
        registry: every registered device, in registry order.
        verdicts: what the judge found; whether anything is too old was found by it, too.
        plans: every nightly, oldest first.
        reports: the last report of each device that ever reported.
        pages: by device and nightly, where the page of the run lies.

    """
    now = verdicts.judged_at
    judged = verdict_of_each(registry, verdicts)
    newest = next((plan for plan in reversed(plans) if plan.id == verdicts.plan_id), None)
    return HealthPage(
        nightly=_moment(verdicts.planned_at, now),
        limit=_limit(Cadence.NIGHTLY),
        rows=tuple(
            _watched(item, judged[item.device.name], reports.get(item.device.name), now)
            for item in in_order(registry, judged)
        ),
        newest=_newest(newest, plans, pages, now) if newest else None,
        texts_nights=TEXTS_NIGHTS,
        measures_runs=MEASURES_RUNS,
    )


def _watched(item: RegisteredDevice, verdict: DeviceVerdict, report: LastReport | None, now: datetime) -> Watched:
    device = item.device
    return Watched(
        name=device.name,
        display_name=one_line(device.display_name, 60),
        verdict=verdict.verdict,
        reason=one_line(verdict.reason, 160),
        is_control=device.tier is Tier.REFERENCE,
        cadence=device.cadence,
        planned=_moment(verdict.history[-1].date if verdict.history else None, now),
        reported=_moment(report.at if report else None, now),
        href=report.href if report else None,
    )


def _newest(newest: Plan, plans: Sequence[Plan], pages: Mapping[str, Mapping[str, str]], now: datetime) -> Newest:
    expected = {run.device for run in newest.runs}
    reported = sum(newest.id in pages.get(name, ()) for name in expected)
    by_itself = next((plan for plan in reversed(plans) if plan.trigger.event == SCHEDULE), None)
    return Newest(newest, len(expected), reported, _moment(by_itself.created_at if by_itself else None, now))


def _moment(at: datetime | None, now: datetime) -> Moment | None:
    return Moment(at, age((now - at).total_seconds())) if at is not None else None


def _limit(cadence: Cadence) -> str:
    return age(cadence.stale_after.total_seconds())
