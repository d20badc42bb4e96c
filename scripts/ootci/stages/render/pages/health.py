"""The watcher's page: how old everything is that the other pages are made from, and what is kept of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated

from pydantic import Field

from ootci.history.gc import MEASURES_RUNS, TEXTS_NIGHTS
from ootci.history.named import KEPT
from ootci.model.device import Cadence, Device, Tier
from ootci.model.plan import SCHEDULE, Plan
from ootci.model.record import Record, Time
from ootci.model.verdict import DeviceVerdict, VerdictName
from ootci.model.words import many

from ..facts import Fact
from ..links import web_address
from ..page_maker import PageMaker
from ..publish import File
from ..text import one_line
from ..words import ago, moment
from .published import OfNewest, WithPage, api_file

_TOP = "../../"


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


class HealthFile(WithPage, OfNewest):
    """health.json: how old everything is that the site is made from."""

    stale_at: Time | None
    """When the newest nightly becomes too old: after that, this file is stale."""
    nightly: NightlyHealth | None
    """The newest nightly; null when there has been none."""
    devices: tuple[DeviceHealth, ...]
    """What needs a person first, within a tier."""


def health_page(
    maker: PageMaker, order: Sequence[str], plans: Sequence[Plan], reports: Mapping[str, tuple[datetime, str]]
) -> Iterator[File]:
    """The health page.

    Args:
        order: the devices, in the front page's order.
        plans: every nightly, oldest first.
        reports: of each device that ever reported, when its newest run finished, and where its page lies.

    """
    verdicts, judged = maker.verdicts, maker.judged
    devices = {item.device.name: item.device for item in maker.registry}
    newest = next((plan for plan in reversed(plans) if plan.id == verdicts.plan_id), None)
    file = HealthFile(
        **OfNewest.of(verdicts),
        stale_at=verdicts.stale_at,
        page=f"{_TOP}health/index.html",
        nightly=_nightly(newest, plans, maker.runs) if newest else None,
        devices=tuple(_device(devices[name], judged[name], reports.get(name)) for name in order),
    )
    yield maker.show(
        "health/index.html",
        "health.html",
        page=file,
        limit=Cadence.NIGHTLY.stale_after.total_seconds(),
        reasons={name: one_line(verdict.reason, 160) for name, verdict in judged.items()},
        facts_of_nightly=_facts(file.nightly, newest, file.judged_at) if file.nightly and newest else (),
        texts_nights=TEXTS_NIGHTS,
        measures_runs=MEASURES_RUNS,
        kept=KEPT,
    )
    yield api_file("health.json", file)


def _nightly(newest: Plan, plans: Sequence[Plan], pages: Mapping[str, Mapping[str, str]]) -> NightlyHealth:
    expected = {run.device for run in newest.runs}
    by_itself = (plan.created_at for plan in reversed(plans) if plan.trigger.event == SCHEDULE)
    return NightlyHealth(
        plan_id=newest.id,
        event=newest.trigger.event,
        url=web_address(newest.trigger.url),
        expected=len(expected),
        reported=sum(newest.id in pages.get(name, ()) for name in expected),
        left_out=tuple(item.device for item in newest.left_out),
        scheduled_at=next(by_itself, None),
    )


def _device(device: Device, verdict: DeviceVerdict, report: tuple[datetime, str] | None) -> DeviceHealth:
    return DeviceHealth(
        device=device.name,
        verdict=verdict.verdict,
        is_control=device.tier is Tier.REFERENCE,
        cadence=device.cadence,
        silent_after=int(device.cadence.stale_after.total_seconds()),
        planned_at=verdict.history[-1].date if verdict.history else None,
        reported_at=report[0] if report else None,
        page=f"{_TOP}{report[1]}" if report else None,
    )


def _facts(found: NightlyHealth, newest: Plan, now: datetime) -> tuple[Fact, ...]:
    """What the newest nightly expected and got, in words."""
    left_out = ", ".join(f"{item.device} ({item.reason})" for item in newest.left_out)
    last = found.scheduled_at
    scheduled = f"last {moment(last)}, {ago(last, now)} before this page" if last else "never yet"
    return (
        Fact("nightly", found.plan_id, code=True),
        Fact("started by", found.event, found.url),
        Fact("by schedule", scheduled),
        Fact("reported", f"{found.reported} of {many(found.expected, 'expected device')}"),
        Fact("left out", left_out or "none"),
    )
