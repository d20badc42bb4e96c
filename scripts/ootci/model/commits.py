"""How many commits one build of PyTorch or of a plugin has that the one before did not have."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ootci.model.delivery import Commit
from ootci.model.record import Record

MAX_COMMITS = 20_000
"""No more are told of between two builds: PyTorch gets about two thousand a month."""


class NewCommits(Record):
    """The commits that a build has and the build before did not have."""

    since: Commit
    """The commit of the build before."""
    until: Commit
    """The commit of the build."""
    count: Annotated[int, Field(ge=1, le=MAX_COMMITS)]
    """How many there are."""

    @classmethod
    def counted(cls, since: str, until: str, count: int | None) -> NewCommits | None:
        """The commits between two; None where their number is not known, or too large to tell anybody anything."""
        return cls(since=since, until=until, count=count) if count and count <= MAX_COMMITS else None
