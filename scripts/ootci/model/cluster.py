"""Failures: their names, since when they last, and those of one night with the same error on several devices."""

from __future__ import annotations

import hashlib
from enum import Enum
from typing import Annotated

from pydantic import Field

from ootci.model.record import Record, Time

MAX_TEXT = 200


class Signature(Record):
    """The name of a failure: two failures with the same one count as the same. Hostile until escaped."""

    id: str
    """Twelve hexadecimal digits, made of the text alone, so that it is the same on every night and every machine."""
    text: str
    """One line for people: what failed, without what differs from run to run and from device to device."""

    @classmethod
    def of(cls, text: str) -> Signature:
        """The signature with that text, first cut to its greatest length, so that equal texts are equal."""
        shown = text[:MAX_TEXT].strip()
        return cls(id=hashlib.sha256(shown.encode("utf-8", "replace")).hexdigest()[:12], text=shown)


class Mark(Record):
    """A night of one device, with what was under test."""

    plan_id: str
    """The nightly."""
    date: Time
    """When the nightly was planned."""
    torch_version: str | None = None
    """``torch.__version__``; null where no torch was installed."""
    torch_commit: str | None = None
    """The commit of PyTorch that it names as its source. Hostile until escaped."""
    plugin_version: str | None = None
    """Version of the plugin's distribution; null where no plugin was installed."""
    plugin_commit: str | None = None
    """Commit of the plugin's source, where there is one; ``-dirty`` is appended for uncommitted changes."""
    plugin_sources: str | None = None
    """Checksum of its source files, where it was built from them."""


class Streak(Record):
    """An unbroken row of failures, and what changed when it began."""

    first_failed: Mark
    """Where it began."""
    last_passed: Mark | None = None
    """The last night before on which it passed; null when no such night is known."""
    torch_changed: bool | None = None
    """Whether PyTorch changed in between; null where that cannot be told."""
    plugin_changed: bool | None = None
    """Whether the plugin changed in between; null where that cannot be told."""
    commits: str | None = None
    """PyTorch's commits in between, as ``abc1234...def5678``; null where they are the same or unknown."""
    commits_url: str | None = None
    """The page that lists them."""
    commits_count: Annotated[int | None, Field(exclude_if=lambda count: count is None)] = None
    """How many there are; absent where it is not known."""


class Cause(str, Enum):
    """The likely cause of a failure."""

    UPSTREAM = "upstream"
    """PyTorch: independent plugins began to fail with the same error in overlapping ranges of nights."""
    SUSPECTED_UPSTREAM = "suspected_upstream"
    """PyTorch is suspected and nothing shows it: one plugin began to fail when PyTorch changed and it did not."""
    PLUGIN = "plugin"
    """The plugin: it began to fail when it changed and PyTorch did not."""
    INFRASTRUCTURE = "infrastructure"
    """The machines, the cards or the network."""
    CORE_DEFECT = "core_defect"
    """PyTorch: a defect that the suites know and expect."""
    KNOWN = "known"
    """The vendor knows of it."""
    FLAKY = "flaky"
    """Chance: it passed on retry, or has failed and passed by turns before."""
    UNKNOWN = "unknown"
    """Unclear from the reports."""


CHANCE = frozenset({Cause.FLAKY, Cause.CORE_DEFECT, Cause.INFRASTRUCTURE})
"""Causes of failures that no event is behind."""
EXCUSED = CHANCE | {Cause.KNOWN}
"""Causes of failures that break no device."""


class ClusterDevice(Record):
    """One device's part in a cluster."""

    device: str
    """Name of the device."""
    is_reference: bool
    """Whether it is the control."""
    tests: int
    """How many of its tests, or stages, have this failure."""
    new: int
    """How many of them failed for the first time on this nightly, and nobody expected it."""
    first: tuple[str, ...]
    """Ids of the first of them in alphabetical order; the name of a stage that broke."""
    plugin_changed: bool | None
    """Whether its plugin changed when they began to fail; null where that cannot be told."""
    plugin_commits: Annotated[int | None, Field(exclude_if=lambda count: count is None)] = None
    """How many commits its plugin got between `last_passed` and `since`; absent where it is not known."""
    since: Mark
    """The night on which the first of them began to fail."""
    last_passed: Annotated[Mark | None, Field(exclude_if=lambda mark: mark is None)] = None
    """The last night before on which that one passed; absent where it never did."""


class Cluster(Record):
    """Failures of one night with one cause: of one name, of one test or stage since overlapping ranges of nights, or of
    tests that began to fail on the same nights on the same devices and whose failures say no more than that.
    """

    signature: Signature
    """Their name: that of those that began first."""
    also: Annotated[tuple[Signature, ...], Field(exclude_if=lambda names: not names)] = ()
    """The other names that they have, such as each vendor's own text of one error, or each test's; absent where there
    are none."""
    plan_id: str
    """The nightly."""
    cause: Cause
    """Their likely cause."""
    reason: str
    """Why, in one sentence."""
    devices: tuple[ClusterDevice, ...]
    """The devices, by name."""
    since: Mark
    """The end of the tightest range that its members' ranges allow."""
    last_passed: Annotated[Mark | None, Field(exclude_if=lambda mark: mark is None)] = None
    """The begin of that range; absent where nothing is known of it."""
    commits: str | None = None
    """The fewest of PyTorch's commits that it can come from, as ``abc1234...def5678``; null where there are none."""
    commits_url: str | None = None
    """The page that lists them."""
    commits_count: Annotated[int | None, Field(exclude_if=lambda count: count is None)] = None
    """How many there are; absent where it is not known."""
    events: Annotated[tuple[Cluster, ...], Field(exclude_if=lambda events: not events)] = ()
    """Where the same error began on several nights, and so for several causes, the failures of each; absent where it
    has one cause."""

    @property
    def text(self) -> str:
        """Their first name, and whether they have others. Hostile until escaped."""
        return f"{self.signature.text}, and others" if self.also else self.signature.text

    @property
    def names(self) -> frozenset[str]:
        """The ids of all its names."""
        return frozenset(item.id for item in (self.signature, *self.also))

    @property
    def is_new(self) -> bool:
        """Whether any of it began on this nightly."""
        return any(item.new for item in self.devices)

    @property
    def tests(self) -> int:
        """How many tests and stages of all devices have this failure."""
        return sum(item.tests for item in self.devices)
