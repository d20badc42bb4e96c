"""The ranking of flaky tests of all devices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

from ootci.history.flakiness import LATELY, SAMPLE, TURNS, flaky_tests, tells
from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.record import Record

from ..page_maker import PageMaker
from ..publish import File
from ..run_pages import RunPage, by_nightly
from .published import Published, WithPage, api_file

RANKED = 250
"""Rows of the ranking."""
OF_A_DEVICE = 200
"""No device has more rows, so that one cannot crowd out the others."""
_TOP = "../../"


class FlakyEntry(Record):
    """A test that fails and passes by turns on a device."""

    device: str
    """Name of the device."""
    id: str
    """The test."""
    turns: int
    """How often it failed and then passed."""
    again: int
    """Nights on which it failed and passed on retry."""
    failed: int
    """Nights on which it failed at first."""
    sample: int
    """Nights on which it passed or failed."""
    plan_id: str
    """The newest nightly on which it failed."""
    night: date
    """The day of that nightly, in UTC."""
    run_page: str
    """Address of the permanent page of its run on that nightly."""
    page: str | None
    """Address of its nights for people."""


class FlakyFile(WithPage, Published):
    """flaky.json: the ranking of flaky tests."""

    nights: int
    """How many nights of each device that say something of it are looked at."""
    tests: tuple[FlakyEntry, ...]
    """The most turns for their nights first."""
    more: int
    """How many were left out because there were too many."""


def flaky_page(maker: PageMaker, devices: Sequence[FlakyFile]) -> Iterator[File]:
    """The ranking of all devices, and its file."""
    file = flaky_file(devices)
    yield maker.show("flaky/index.html", "flaky.html", page=file, turns=TURNS, sample=SAMPLE)
    yield api_file("flaky.json", file)


def flaky_of_device(
    device: Device, pages: Sequence[RunPage], plans: Mapping[str, Plan], place: Callable[[str], str | None]
) -> FlakyFile:
    """What of a device belongs into the ranking, over the newest nights that say something of it.

    ``place`` has where the nights of a test are shown, as an address from the top.
    """
    counting = by_nightly(pages)
    planned = [plan for plan in plans.values() if plan.expected(device.name) and plan.id in counting]
    reported = [(plan, counting[plan.id].stored) for plan in planned]
    found = flaky_tests([run for plan, run in reported if tells(device.bad_ranges, plan, run)])
    tests = tuple(
        FlakyEntry(
            **vars(test),
            device=device.name,
            night=plans[test.plan_id].created_at.date(),
            run_page=f"{_TOP}{counting[test.plan_id].path}",
            page=f"{_TOP}{address}" if (address := place(test.id)) else None,
        )
        for test in found[:OF_A_DEVICE]
    )
    return _ranking(tests, len(found) - len(tests))


def flaky_file(devices: Sequence[FlakyFile]) -> FlakyFile:
    """The ranking: the most turns for their nights first, in the order of the registry where they are equal."""
    ranked = sorted((test for device in devices for test in device.tests), key=lambda test: -test.turns / test.sample)
    return _ranking(ranked[:RANKED], len(ranked[RANKED:]) + sum(device.more for device in devices))


def _ranking(tests: Sequence[FlakyEntry], more: int) -> FlakyFile:
    return FlakyFile(page=f"{_TOP}flaky/index.html", nights=LATELY, tests=tuple(tests), more=more)
