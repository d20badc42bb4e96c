"""Alerts: the conditions that open an issue, and the state that an issue keeps from night to night."""

from __future__ import annotations

from enum import Enum

from ootci.model.cluster import Cluster
from ootci.model.record import Record, Time

NIGHTLY = "nightly"
"""The subject of an alert that is about no device."""
MAIN = "main"
"""The subject of an alert that is about this repository's own tests: the branch that they ran on."""


GOOD_NIGHTS = 3
"""Good nights in a row after which an issue is closed."""
REMINDER_DAYS = 7
"""Days after which an issue that was closed by hand is reopened if it still fails."""


class Condition(str, Enum):
    """The subject of an issue; also its label."""

    STALE = "nightly-stale"
    """The nightly itself does not run."""
    UPSTREAM = "probably-upstream"
    """Failures of several devices that are probably PyTorch's."""
    BROKEN = "device-broken"
    """A device does something wrong."""
    INFRASTRUCTURE = "device-infrastructure"
    """A device's machine does not work."""
    SILENT = "device-silent"
    """A device does not report."""
    DEEP_TESTS = "deep-tests"
    """This repository's own deep tests fail."""


class Standing(str, Enum):
    """The state of a condition now."""

    PRESENT = "present"
    """It is so."""
    WAITING = "waiting"
    """It is so, but not for long enough, or for a reason that has an issue of its own."""
    ABSENT = "absent"
    """It is not so, as was seen."""
    UNKNOWN = "unknown"
    """Nothing was seen that could tell."""
    GONE = "gone"
    """Its subject is not registered any more."""


class Alert(Record):
    """A condition of one subject on the newest nightly."""

    condition: Condition
    """Its subject."""
    subject: str
    """A device's name, ``nightly``, ``main``, or a signature's id and the nightly on which it began."""
    standing: Standing
    """Its state."""
    kind: str = ""
    """In which way it is so; another one is a new failure."""
    reason: str = ""
    """One sentence. Hostile until escaped."""
    plan_id: str | None = None
    """The newest nightly that tells of it."""
    date: Time
    """When that was planned; of a nightly that does not run, the moment at which that was seen."""
    began: Time
    """The first of the unbroken row of nights on which it was so."""
    is_new: bool = False
    """Whether something fails on that nightly that did not before."""
    devices: tuple[str, ...] = ()
    """The devices that it concerns."""
    cluster: Cluster | None = None
    """Failures of several devices, as they are on that nightly."""
    tests: tuple[str, ...] = ()
    """Of failures, the first tests or stages that fail."""
    good: tuple[Time, ...] = ()
    """The nights, oldest first, that showed that it was not so, up to the newest."""

    @property
    def key(self) -> str:
        """By which its issue is found again."""
        return f"{self.condition.value}/{self.subject}"


class Remembered(Record):
    """The fields of an issue's marker."""

    key: str
    """Of the alert that it is about."""
    plan_id: str | None = None
    """The newest nightly whose failure was told."""
    seen: Time
    """When that was planned."""
    began: Time
    """The first of the nights on which it was so."""
    kind: str = ""
    """In which way it was so."""
    devices: tuple[str, ...] = ()
    """The devices that it concerned."""
    tests: tuple[str, ...] = ()
    """Of failures, the first tests or stages that failed."""
    closed: bool = False
    """Whether we closed it ourselves; else a closed issue was closed by a person."""
    dismissed: Time | None = None
    """The nightly after which it was found to have been closed by hand."""
    duplicate_of: int | None = None
    """The older issue of the same key, for which this one was closed."""

    @property
    def condition(self) -> Condition | None:
        """Its subject; None where this version does not know it."""
        name = self.key.partition("/")[0]
        return Condition(name) if name in {item.value for item in Condition} else None

    @property
    def subject(self) -> str:
        """A device's name, ``nightly``, ``main``, or a signature's id and the nightly on which it began."""
        return self.key.partition("/")[2]
