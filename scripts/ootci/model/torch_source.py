"""torch.json: a wheel of torch that was built from source, and of what."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ootci.model.delivery import Commit
from ootci.model.record import StageFile, Time


class TorchSource(StageFile):
    """A wheel of torch that was built from source, and of what. It lies beside the wheel."""

    FILE: ClassVar[str] = "torch.json"
    WRITTEN_BY: ClassVar[str] = "ootci torch build"

    remote: str
    """The repository that it was built from."""
    ref: str
    """The branch, tag or commit that was asked for; ``refs/pull/4711/merge`` for a pull request as it would be
    merged."""
    pull_request: Annotated[int | None, Field(ge=1)] = None
    """Number of the pull request; null for any other ref."""
    commit: Commit
    """The commit that the ref stood at; ``torch.version.git_version`` of the wheel."""
    version: str
    """The wheel's version."""
    wheel: str
    """The wheel's file name."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """Its checksum."""
    python_version: str
    """The Python that it was built with, and is for."""
    compiler: str | None = None
    """First line of the C++ compiler's version, where there is a compiler."""
    compiler_cache: str | None = None
    """First line of the compiler cache's version; null when it was built without one."""
    started_at: Time
    """When the build began."""
    duration: float
    """Seconds from fetching the sources to the wheel."""

    def __str__(self) -> str:
        what = f"pull request {self.pull_request}" if self.pull_request else self.ref
        return f"{what} of {self.remote} at {self.commit[:10]}"
