"""The ranking of flaky tests of all devices."""

from __future__ import annotations

from ootci.model.record import Record

from .published import Published


class FlakyEntry(Record):
    """A test that fails and passes by turns on a device."""

    device: str
    """Name of the device."""
    id: str
    """The test."""
    turns: int
    """How often it failed and then passed."""
    again: int
    """Nights on which it failed and passed when it was run again."""
    failed: int
    """Nights on which it failed at first."""
    sample: int
    """Nights on which it passed or failed."""
    plan_id: str
    """The newest nightly on which it failed."""
    run_page: str
    """Address of the permanent page of its run on that nightly."""
    page: str | None
    """Address of its nights for people."""


class FlakyFile(Published):
    """flaky.json: the ranking of flaky tests."""

    page: str
    """Address of the same for people."""
    nights: int
    """How many nights of each device that say something of it are looked at."""
    tests: tuple[FlakyEntry, ...]
    """The most turns for their nights first."""
    more: int
    """How many were left out because there were too many."""
