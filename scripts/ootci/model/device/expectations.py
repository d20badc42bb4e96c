"""A vendor's declarations: known failures, accepted lost tests, unsupported capabilities, and bad nights."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone
from functools import lru_cache
from typing import Annotated

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version
from pydantic import AfterValidator, Field, StringConstraints, model_validator
from typing_extensions import Self

from ootci.model.capability import Capability
from ootci.model.record import Record

from .values import Text, Url

_UNLIKELY = ("zqxj", "test_zqxj.py::test_zqxj", "test_zqxj.py::TestZqxj::test_zqxj[zqxj]")
"""Tests that no suite has: an entry that names them names every test."""
LONGEST = timedelta(days=366)
"""How long an entry may be listed before somebody has to look at it again."""


def _torch_range(text: str) -> str:
    try:
        clauses = list(SpecifierSet(text))
    except InvalidSpecifier:
        raise ValueError(f"`{text}` is no range of versions; write one such as `>=2.13,<2.15`") from None
    if not clauses or any(clause.operator == "===" for clause in clauses):
        raise ValueError(f"`{text}` is no range of versions; write one such as `>=2.13,<2.15`")
    return text


TestGlob = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*/\S.*$", max_length=500)]
TorchRange = Annotated[str, StringConstraints(max_length=100), AfterValidator(_torch_range)]


class _Tests(Record):
    """Some tests of one suite, by a pattern of their ids."""

    id: TestGlob
    """Test id, beginning with its suite. `*` stands for any text, `?` for one character, all else for itself."""

    @property
    def suite(self) -> str:
        """The suite of its tests."""
        return self.id.partition("/")[0]

    @property
    def prefix(self) -> str:
        """What the ids of its tests begin with."""
        return _compiled(self.id)[0]

    @property
    def covers_suite(self) -> bool:
        """Whether it names no test in particular, so that it covers every test of its suite."""
        return any(self.matches(f"{self.suite}/{test}") for test in _UNLIKELY)

    def matches(self, test_id: str) -> bool:
        """Whether a test is one of those meant."""
        prefix, pattern = _compiled(self.id)
        return test_id.startswith(prefix) and pattern.match(test_id) is not None


class KnownFailure(_Tests):
    """Tests that fail on the device and that the vendor knows of. They stay failures; the judge counts them apart."""

    reason: Text
    """Why they fail, one sentence."""
    issue: Url
    """Where it is being worked on."""
    added: date
    """Day on which the entry was written, such as 2026-11-21."""
    expires: date
    """Last day on which it counts, at most a year after `added`; from the next day on its tests are failures again."""
    torch: TorchRange | None = None
    """Versions of torch on which it counts, such as `>=2.13`; all when absent. A nightly counts as its release."""

    @model_validator(mode="after")
    def _for_a_time(self) -> Self:
        _require_time(self.added, self.expires)
        return self

    def expired(self, today: date) -> bool:
        """Whether its last day is over."""
        return today > self.expires

    def is_about(self, torch_version: str | None) -> bool:
        """Whether it counts on a torch; never on one whose version nobody can read, unless it counts on all."""
        return self.torch is None or (torch_version is not None and _within(self.torch, torch_version))


class LostTests(_Tests):
    """Tests that no longer run, which the vendor accepts. Without an entry the device has the verdict LOST_TESTS."""

    reason: Text
    """Why they no longer run, one sentence."""
    added: date
    """Day on which the entry was written, such as 2026-11-21."""
    expires: date
    """Last day on which a loss is accepted, at most a year after `added`; a loss accepted by then stays accepted."""

    @model_validator(mode="after")
    def _for_a_time(self) -> Self:
        _require_time(self.added, self.expires)
        return self

    def is_valid(self, night: date) -> bool:
        """Whether it accepts losses on that night."""
        return self.added <= night <= self.expires


def _require_time(added: date, expires: date) -> None:
    if expires < added:
        raise ValueError(f"it expires on {expires}, before it was added on {added}")
    if expires - added > LONGEST:
        latest = added + LONGEST
        raise ValueError(f"it expires more than a year after it was added; {latest} is the latest day possible")


class Unsupported(Record):
    """A capability that the device does not have. Its tests still run, so that a false declaration is found."""

    capability: Capability
    """The capability, by its id."""
    reason: Text
    """Why, one sentence."""


@lru_cache(maxsize=2048)
def _compiled(glob: str) -> tuple[str, re.Pattern[str]]:
    # Ids are full of brackets, which are therefore plain text; what fnmatch makes of `*` cannot backtrack for long.
    return re.split(r"[*?]", glob, maxsplit=1)[0], re.compile(fnmatch.translate(glob.replace("[", "[[]")))


def _within(torch_range: str, torch_version: str) -> bool:
    """Whether a version is within a range.

    A nightly counts as the release that it becomes, so that 2.14.0.dev20261120+cpu is within `>=2.14` and not within
    `<2.14`; beside a limit that names a nightly itself, it counts as what it is.
    """
    try:
        version = Version(torch_version)
    except InvalidVersion:
        return False
    for clause in SpecifierSet(torch_range):
        exact = Version(clause.version.removesuffix(".*")).is_prerelease
        if not clause.contains(version.public if exact else version.base_version, prereleases=True):
            return False
    return True


LONGEST_RANGE = timedelta(days=92)
"""A device whose infrastructure is broken for longer is better paused."""


class BadRange(Record):
    """Nights that are excluded because the infrastructure was broken. Their verdicts do not change."""

    first: date
    """The first of the nights, such as 2026-11-03 (UTC)."""
    last: date
    """The last of them, at most 92 days later; the same day for one night."""
    reason: Text
    """What was broken, one sentence."""
    link: Url
    """Where one can read about it."""

    @model_validator(mode="after")
    def _forwards(self) -> BadRange:
        if self.last < self.first:
            raise ValueError(f"it ends on {self.last}, before it begins on {self.first}")
        if self.last - self.first > LONGEST_RANGE:
            raise ValueError(
                f"it is longer than {LONGEST_RANGE.days} days; a device that cannot be run for so long is `paused`"
            )
        return self

    def covers(self, planned: datetime) -> bool:
        """Whether a night that was planned at that aware time is one of them."""
        return self.first <= planned.astimezone(timezone.utc).date() <= self.last


BadRanges = Annotated[tuple[BadRange, ...], Field(max_length=100)]


def bad_range(ranges: Iterable[BadRange], planned: datetime) -> BadRange | None:
    """The first range that covers a night; None when the night is not excluded."""
    return next((found for found in ranges if found.covers(planned)), None)
