"""The nights of every test that was ever not passing: a page for each file of a suite, and the list of all files."""

from __future__ import annotations

from ootci.model.record import Record
from ootci.model.spell import Spell
from ootci.model.verdict import KnownFailureState

from .published import Published


class KnownMark(Record):
    """The first entry of the vendor's list of known failures that names a test."""

    state: KnownFailureState
    """What the entry came to on the newest nightly."""
    issue: str
    """Where it is being worked on."""


class DeviceLife(Record):
    """What came of a test on one device on which it was ever not passing."""

    device: str
    """Name of the device."""
    nights: str
    """A letter for each nightly of the file: `p` passed, `f` failed, in whichever way, `a` failed and passed when run
    again, `x` failed as expected, `X` passed against expectation, `n` collected and not run, `s` skipped, `u`
    unsupported, `_` the device was expected and did not report, `.` not in the run or the device was not expected."""
    last: str
    """The newest nightly on which it failed, or, if it did on none of these, was not passing."""
    signature: str | None
    """The id of what it fails of on the newest nightly; null where it does not fail."""
    spell: Spell | None
    """Since when it fails; null where it does not, or nobody knows."""
    flaky: bool
    """Whether it is on the list of flaky tests."""
    known: KnownMark | None
    """What the vendor said beforehand of it; null where that is nothing."""


class TestLife(Record):
    """A test that was ever not passing."""

    __test__ = False  # not a test of pytest, whatever its name

    id: str
    """The test."""
    page: str
    """Address of its nights for people."""
    devices: tuple[DeviceLife, ...]
    """The devices on which it was ever not passing, in registry order."""


class LifeFile(Published):
    """lives/<suite>/<file>.json: the newest nights of each test of a file that was ever not passing."""

    suite: str
    """The suite."""
    file: str
    """The file's name in its suite."""
    nights: tuple[str, ...]
    """The newest nightlies, oldest first."""
    tests: tuple[TestLife, ...]
    """Those first that fail on most devices."""
    more: int
    """How many such tests were left out because the file would be too long."""


class LifeEntry(Record):
    """A file of a suite."""

    suite: str
    """The suite."""
    file: str
    """The file's name in its suite."""
    tests: int
    """How many tests it has had."""
    ever: int
    """How many of them were ever not passing: neither passed, nor skipped or unsupported."""
    failing: int
    """How many of them fail on the newest nightly on any device."""
    path: str
    """Address of the file with their nights."""
    page: str
    """Address of the same for people."""


class LivesFile(Published):
    """lives.json: every file of a suite in which a test was ever not passing."""

    files: tuple[LifeEntry, ...]
    """Those first in which most tests fail on the newest nightly."""
