"""review.json: the checks of device files before they are registered, and their results.

A pull request's own run writes it, so every text in it is untrusted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ootci.model.record import Record, StageFile
from ootci.model.words import many

LONGEST = 2000
"""Characters of one text."""
MOST = 200
"""Problems of one check; no file that somebody wrote by hand has more."""
Told = Annotated[str, StringConstraints(max_length=LONGEST)]
"""Text about a file, which may quote it."""
Named = Annotated[str, StringConstraints(max_length=500)]


class CheckState(str, Enum):
    """The result of one check."""

    PASSED = "passed"
    FAILED = "failed"
    WARNING = "warning"
    """Nothing is wrong with the file as far as one can tell: a link that does not answer just now, an expired entry."""
    NOT_MADE = "not_made"
    """It could not be made, because another one failed."""


class Problem(Record):
    """A problem that a check found."""

    what: Told
    """What is wrong, one sentence."""
    where: Told
    """The file and line, or the address."""
    fix: Told
    """What to do."""
    state: CheckState = CheckState.FAILED
    """Whether the check fails because of it."""
    error: Named | None = None
    """Id of the error, where it is one of the catalogue."""

    @classmethod
    def told(cls, what: str, where: str, fix: str, state: CheckState = CheckState.FAILED) -> Problem:
        """A problem whose text may be longer than a record holds."""
        return cls(what=what[:LONGEST], where=where[:LONGEST], fix=fix[:LONGEST], state=state)


class CheckResult(Record):
    """One check of one file."""

    check: Named
    """Name of the check."""
    state: CheckState
    """Its result."""
    problems: Annotated[tuple[Problem, ...], Field(max_length=MOST)] = ()
    """Everything that it found, failures before warnings."""


class Change(str, Enum):
    """The effect of a pull request on a device."""

    ADDED = "added"
    CHANGED = "changed"
    RENAMED = "renamed"
    REMOVED = "removed"
    OTHER = "other"
    """Files that are no device file were changed."""


class FileReview(Record):
    """One device file."""

    path: Named
    """The file, from the top of the repository or as it was named."""
    device: Named | None = None
    """Name of the device, where the file has one."""
    change: Change | None = None
    """The change; null where nothing is proposed."""
    checks: Annotated[tuple[CheckResult, ...], Field(max_length=50)] = ()
    """Every check, in order."""
    notes: Annotated[tuple[Told, ...], Field(max_length=50)] = ()
    """Notes, one sentence each."""
    dry_run: Annotated[tuple[Told, ...], Field(max_length=50)] = ()
    """What a nightly would run where, one line each; empty where the file is not good enough to say."""
    preview: Named | None = None
    """Folder of the rendered preview; null where there is none."""

    @property
    def is_good(self) -> bool:
        """Whether no check failed."""
        return not any(item.state is CheckState.FAILED for item in self.checks)


class Review(StageFile):
    """Every device file that was looked at."""

    FILE: ClassVar[str] = "review.json"
    WRITTEN_BY: ClassVar[str] = "ootci device review"

    files: Annotated[tuple[FileReview, ...], Field(max_length=100)]
    """The files, by path."""
    notes: Annotated[tuple[Told, ...], Field(max_length=50)] = ()
    """Notes on the change as a whole."""

    @property
    def checks(self) -> tuple[CheckResult, ...]:
        """Every check of every file."""
        return tuple(item for file in self.files for item in file.checks)

    @property
    def is_good(self) -> bool:
        """Whether no check failed."""
        return all(file.is_good for file in self.files)


def score(checks: Iterable[CheckResult]) -> str:
    """How it went, in words: ``11 of 12 checks passed``. A warning is no failure."""
    found = Counter(item.state for item in checks)
    total, left = sum(found.values()), found[CheckState.NOT_MADE]
    passed = found[CheckState.PASSED] + found[CheckState.WARNING]
    warned = found[CheckState.WARNING]
    text = f"{passed} of {many(total, 'check')} passed"
    text += f", {warned} of them with a warning" if warned else ""
    return text + (f", {left} could not be made" if left else "")
