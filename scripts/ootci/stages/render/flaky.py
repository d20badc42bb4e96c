"""The ranking of flaky tests of all devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ootci.history.flakiness import LATELY, FlakyTest, flaky_tests, nights_that_tell
from ootci.model.device import Device
from ootci.model.plan import Plan

from .device_view import RunPage, by_nightly
from .text import one_line

RANKED = 250
"""Rows of the ranking."""
OF_A_DEVICE = 200
"""No device has more rows, so that one cannot crowd out the others."""


@dataclass(frozen=True)
class FlakyRow:
    """One flaky test of one device; ``href`` is the page of the run in which it failed last, ``nights`` that of all."""

    id: str
    device: str
    display_name: str
    test: FlakyTest
    href: str
    nights: str | None


@dataclass(frozen=True)
class FlakyOfDevice:
    """The flaky tests of one device, and how many there are in all."""

    total: int
    rows: tuple[FlakyRow, ...]


@dataclass(frozen=True)
class FlakyPage:
    """Everything that the ranking shows."""

    nights: int
    total: int
    rows: tuple[FlakyRow, ...]

    @property
    def more(self) -> int:
        """Tests that are not named."""
        return self.total - len(self.rows)


def flaky_of_device(
    device: Device, pages: Sequence[RunPage], plans: Mapping[str, Plan], place: Callable[[str], str | None]
) -> FlakyOfDevice:
    """What of a device belongs into the ranking, over the newest nights that say something of it.

    Args:
        device: the device.
        pages: the pages of all its runs.
        plans: every nightly, oldest first, by id.
        place: where the nights of a test are shown, as an address from the top.

    """
    counting = by_nightly(pages)
    nights = nights_that_tell(device, plans.values())
    found = flaky_tests([counting[plan_id].stored for plan_id in nights if plan_id in counting])
    rows = tuple(
        FlakyRow(
            id=one_line(test.id),
            device=device.name,
            display_name=one_line(device.display_name, 60),
            test=test,
            href=counting[test.plan_id].path,
            nights=place(test.id),
        )
        for test in found[:OF_A_DEVICE]
    )
    return FlakyOfDevice(len(found), rows)


def flaky_page(devices: Sequence[FlakyOfDevice]) -> FlakyPage:
    """The ranking: the most turns for their nights first, in the order of the registry where they are alike."""
    ranked = sorted(
        (row for device in devices for row in device.rows), key=lambda row: -row.test.turns / row.test.sample
    )
    return FlakyPage(LATELY, sum(device.total for device in devices), tuple(ranked[:RANKED]))
