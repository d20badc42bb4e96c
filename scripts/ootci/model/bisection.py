"""bisection.json: the search for the first nightly on which a test fails, written after every step."""

from __future__ import annotations

import hashlib
import json
from enum import Enum
from typing import Annotated, ClassVar

from pydantic import Field

from ootci.model.build import PluginBuild
from ootci.model.delivery import Commit
from ootci.model.outcome import OutcomeName
from ootci.model.record import Record, StageFile, Time
from ootci.model.torch_build import TorchBuild


class StepResult(str, Enum):
    """The result of the test on a nightly."""

    GOOD = "good"
    """It passed, every time."""
    BAD = "bad"
    """It failed at least once."""
    UNTESTABLE = "untestable"
    """It has no result, for another reason than the one that is searched."""


class Step(Record):
    """The test on one nightly."""

    nightly: str
    """The version of torch."""
    git_version: str | None = None
    """The commit of PyTorch that it names as its source."""
    made_of: Annotated[Commit | None, Field(exclude_if=lambda commit: commit is None)] = None
    """The commit of PyTorch's branch `main` that it was made of; absent where it is not known."""
    result: StepResult
    """The result on this nightly."""
    outcomes: tuple[OutcomeName, ...] = ()
    """The outcome of each run of the test; the first failure ends the runs."""
    reason: str | None = None
    """First line of the failure, or why it could not be tested."""
    started_at: Time
    """When the step began."""
    duration: float
    """Seconds that it took."""


class Ending(str, Enum):
    """The kind of conclusion of a bisection."""

    FIRST_BAD = "first_bad"
    """The nightly is found before which the test passes and on which it fails."""
    RANGE = "range"
    """The same, but nightlies in between could not be tested."""
    GOOD_END_FAILS = "good_end_fails"
    """It fails on the good end too: the plugin or the machine has changed, not torch."""
    BAD_END_PASSES = "bad_end_passes"
    """It passes on the bad end: the plugin or the machine has changed, or it fails now and then only."""
    END_UNTESTABLE = "end_untestable"
    """One of the ends could not be tested, so that there is nothing to search between."""


class Conclusion(Record):
    """The conclusion of a bisection, with the nightlies that show it."""

    ending: Ending
    """The kind of conclusion."""
    last_good: TorchBuild | None = None
    """The newest nightly before the break on which the test passed."""
    first_bad: TorchBuild | None = None
    """The oldest nightly after it on which it failed."""
    between: tuple[str, ...] = ()
    """Nightlies between the two, none of which could be tested."""
    commits: str | None = None
    """Page of PyTorch's commits between the two; null where they are unknown."""


class Bisection(StageFile):
    """The search for the first nightly on which a test fails."""

    FILE: ClassVar[str] = "bisection.json"
    WRITTEN_BY: ClassVar[str] = "ootci bisect"

    device: str
    """Name of the device."""
    device_sha256: str
    """Checksum of the device file."""
    test: str
    """The test."""
    repeat: int = 1
    """How often the test runs on each nightly until it fails."""
    nightlies: Annotated[tuple[str, ...], Field(min_length=2)]
    """Versions of torch from the good end to the bad end, oldest first, as the index had them at the start."""
    from_history: tuple[str, ...] = ()
    """Runs of the history that gave the good end and the bad end; empty where both were given."""
    plugin: PluginBuild | None = None
    """The plugin that every step tests, as the first one built it; null until then."""
    steps: tuple[Step, ...] = ()
    """Every nightly that was tested, in the order of the search."""
    conclusion: Conclusion | None = None
    """The conclusion; null while the search goes on."""

    @property
    def identity(self) -> str:
        """The key of this search: another test, other ends or another number of runs is another search."""
        parts = [self.device, self.test, self.nightlies[0], self.nightlies[-1], self.repeat]
        return f"{self.device}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]}"

    def step_of(self, nightly: str) -> Step | None:
        """The step of a nightly; None when it has not been tested."""
        return next((step for step in self.steps if step.nightly == nightly), None)
