"""build.json: the device's environment, and the results of fetch and build; handover.json, for another machine."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from ootci.model.commits import NewCommits
from ootci.model.record import Record, StageFile, Time
from ootci.model.torch_build import TorchBuild, TorchRequest

NOTHING_COLLECTED = "no tests were collected"
"""The reason of a suite's stage in which nothing went wrong but that there was no test."""


class StageName(str, Enum):
    """The stages of a device run, in order; after them come the suites that the vendor brings."""

    FETCH = "fetch"
    BUILD = "build"
    IMPORT = "import"
    CHECK = "check"
    SMOKE = "smoke"
    INTEGRATION = "integration"
    OPS = "ops"
    MODELS = "models"
    UPSTREAM = "upstream"

    __str__ = str.__str__


DIRTY = "-dirty"
"""After a commit whose checkout had uncommitted changes of the plugin or, beside it, of the device file."""

COMPILE_ERROR = re.compile(r"(?P<file>[^\s:]+):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.+)")
"""An error of GCC or Clang."""


AnyStage = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
"""The name of a stage, or of a suite that a vendor brings, which is a stage of its own."""


class StageStatus(str, Enum):
    """How a stage ended."""

    PASSED = "passed"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMED_OUT = "timed_out"
    NOT_RUN = "not_run"


class StageResult(Record):
    """The result of one stage of a device run."""

    name: AnyStage
    """The stage."""
    status: StageStatus
    """How it ended; ``not_run`` when a stage before it failed."""
    started_at: Time | None = None
    """When it started; null when it did not run."""
    duration: float = 0.0
    """Seconds that it took."""
    reason: str | None = None
    """One line: why it did not pass."""
    excerpt: str | None = None
    """The end of its log, capped, when it did not pass."""
    log: str | None = None
    """The log's file name in the run's folder ``logs/``."""
    cached: bool = False
    """True when an earlier product was used again because nothing had changed."""
    only_tests: bool = False
    """True when it failed and failing tests are all that was wrong with it."""
    by_device_file: Annotated[bool, Field(exclude_if=lambda told: not told)] = False
    """True when fetching failed because the repository or ref named in the device file does not exist; absent where
    not."""

    @property
    def came_through(self) -> bool:
        """Whether it passed, or failing tests are all that was wrong with it."""
        return self.status is StageStatus.PASSED or self.only_tests

    @property
    def is_vendors(self) -> bool:
        """Whether the vendor has to mend it, although it is a stage of the infrastructure."""
        return self.name == StageName.FETCH and self.by_device_file

    @property
    def compile_error(self) -> tuple[str, str] | None:
        """The place and the text of the compiler's error that ended it; None where nothing of that kind did."""
        found = COMPILE_ERROR.search(self.reason or "") if self.status is StageStatus.FAILED else None
        if found is None:
            return None
        text = found["text"]
        return f"{found['file']}:{found['line']}", text.rpartition(" (")[0] if text.endswith(")") else text

    @property
    def broke(self) -> bool:
        """Whether it ran and did not come through."""
        return self.status is not StageStatus.NOT_RUN and not self.came_through


class PluginBuild(Record):
    """The plugin that is installed in the device's environment, or that could not be built."""

    package: str
    """Distribution name."""
    version: str | None
    """Distribution version; null when it could not be built."""
    source: str
    """Where it came from: a path in the repository, a git URL and ref, or a package specification."""
    commit: str | None = None
    """Git commit of the source, where there is one; ``-dirty`` is appended for uncommitted changes."""
    new_commits: Annotated[NewCommits | None, Field(exclude_if=lambda commits: commits is None)] = None
    """Of a plugin from git, the commits since the one that the device reported before; absent where there are none, or
    they are not known."""
    sources_sha256: str | None = None
    """Checksum of the names and contents of its source files, where it was built here: another repository's commit, or
    one that touches other folders only, does not change it."""
    wheel: str | None = None
    """File name of the wheel under ``wheels/``."""
    sha256: str | None = None
    """Checksum of that wheel."""


class Build(StageFile):
    """The device's environment, and the results of fetch and build."""

    FILE: ClassVar[str] = "build.json"
    WRITTEN_BY: ClassVar[str] = "ootci build"

    run_id: str
    """Identity of the run."""
    device: str
    """Name of the device."""
    stages: tuple[StageResult, ...]
    """``fetch`` and ``build``, in order."""
    torch_request: TorchRequest
    """The torch that the plan requested."""
    torch: TorchBuild | None = None
    """The torch that is installed; null when it could not be."""
    plugin: PluginBuild | None = None
    """The plugin that is installed or could not be built; null when its sources could not even be fetched."""
    python: str | None = None
    """The device environment's interpreter; a path on the machine that built, never shown or kept."""
    python_version: str | None = None
    """Its version."""
    compiler: str | None = None
    """First line of the C++ compiler's version, where there is a compiler."""
    built_on: Annotated[str | None, Field(exclude_if=lambda place: place is None)] = None
    """The machine that built the plugin, where it was another one than this."""


WheelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+!-]*\.whl$", max_length=250)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class HandedWheel(Record):
    """A wheel that is beside handover.json."""

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
    """A build that another machine tests; it is in a folder with the wheel and the logs."""

    FILE: ClassVar[str] = "handover.json"
    WRITTEN_BY: ClassVar[str] = "ootci build --hand-over"

    build: Build
    """The results of fetch and build on the machine that built."""
    wheels: Annotated[tuple[HandedWheel, ...], Field(max_length=1)] = ()
    """The plugin's wheel; none when it was not built."""
    provenance: Provenance
    """Where and by what it was made."""
