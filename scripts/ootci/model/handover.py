"""handover.json: a build that another machine tests."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ootci.model.build import Build
from ootci.model.record import Record, StageFile

WheelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+!-]*\.whl$", max_length=250)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class HandedWheel(Record):
    """A wheel that lies beside handover.json."""

    name: WheelName
    """Its file name."""
    sha256: Sha256
    """Its checksum."""


class Provenance(Record):
    """Where and by what a build was made."""

    url: str | None = None
    """Page of the workflow run, where there is one."""
    commit: str | None = None
    """Commit for which GitHub ran the workflow, where it did."""
    runner: str | None = None
    """Runner's name under GitHub Actions."""
    machine: str
    """Processor architecture."""
    os: str
    """Platform string."""
    ootci: str
    """Version of ootci that built."""

    def __str__(self) -> str:
        return f"{self.runner or 'another machine'} ({self.machine}, {self.os})"


class Handover(StageFile):
    """A build that another machine tests; it lies in a folder with the wheel and the logs."""

    FILE: ClassVar[str] = "handover.json"
    WRITTEN_BY: ClassVar[str] = "ootci build --hand-over"

    build: Build
    """The results of fetch and build on the machine that built."""
    wheels: Annotated[tuple[HandedWheel, ...], Field(max_length=1)] = ()
    """The plugin's wheel; none when it was not built."""
    provenance: Provenance
    """Where and by what it was made."""
