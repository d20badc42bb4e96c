"""How two runs differ, whichever they are: what `ootci diff` prints for machines."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

from ootci.model.build import PluginBuild
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES, Counts, OutcomeName
from ootci.model.record import Record, Time
from ootci.model.run import Environment, Run, SuiteReport
from ootci.model.torch_build import TorchBuild, TorchRequest
from ootci.model.verdict import ChangeName

CLASSES: tuple[tuple[ChangeName | None, str], ...] = (
    (ChangeName.REGRESSION, "passed in A and fail in B"),
    (ChangeName.NEW_FAILURE, "fail in B, and neither passed nor failed in A"),
    (ChangeName.STILL_FAILING, "fail in both"),
    (ChangeName.FIXED, "failed in A and pass in B"),
    (ChangeName.NEW_PASS, "pass in B, and neither passed nor failed in A"),
    (None, "changed in another way"),
    (ChangeName.DISAPPEARED, "are in A and not in B"),
    (ChangeName.APPEARED, "are in B and not in A, and do not fail"),
)
"""The classes in the order in which they are shown, and what is true of a class's tests."""

FLAKY = "flaky"
"""The result of a test that failed and passed on retry in the same run; else its outcome is its result."""


def _change(before: str | None, after: str | None) -> ChangeName | None:
    if after is None:
        return ChangeName.DISAPPEARED if before is not None else None
    if after == FLAKY:
        return None
    if before == FLAKY:
        before = OutcomeName.PASSED  # it passed in the end, so a failure is new
    if after in FAILURES:
        if before in FAILURES:
            return ChangeName.STILL_FAILING
        return ChangeName.REGRESSION if before in AS_THEY_SHOULD else ChangeName.NEW_FAILURE
    if before is None:
        return ChangeName.APPEARED
    if after not in AS_THEY_SHOULD or before in AS_THEY_SHOULD:
        return None
    return ChangeName.FIXED if before in FAILURES else ChangeName.NEW_PASS


_RESULTS = (None, *(name.value for name in OutcomeName), FLAKY)
CHANGE_OF: Mapping[tuple[str | None, str | None], ChangeName | None] = MappingProxyType(
    {(before, after): _change(before, after) for before, after in product(_RESULTS, repeat=2)}
)
"""The change of a test by its results in A and in B, None where the test is absent; most pairs are no change.

The dashboard's script looks changes up in the same table, which its page holds.
"""


class RunFacts(Record):
    """One of the two runs, without its tests."""

    id: str
    """Identity of the run."""
    device: str
    """Name of the device."""
    plan_id: str
    """The nightly that it belongs to."""
    attempt: int
    """1 for the first attempt."""
    started_at: Time
    """When the first stage started."""
    torch_request: TorchRequest
    """The torch requested and the torch tested."""
    torch: TorchBuild | None
    """The torch that was installed."""
    plugin: PluginBuild | None
    """The plugin that was installed."""
    environment: Environment
    """Where the run took place."""
    suites: tuple[SuiteReport, ...]
    """What each suite reported."""
    counts: Counts
    """Tests of all suites by outcome."""

    @classmethod
    def of(cls, run: Run) -> RunFacts:
        """The facts of a run."""
        kept = {name: getattr(run, name) for name in cls.model_fields}
        return cls.model_construct(**kept)


class TestDifference(Record):
    """A test with different results in the two runs, or one that fails in both."""

    __test__ = False  # not a test of pytest, whatever its name

    id: str
    """The test."""
    suite: str
    """The suite that it belongs to."""
    change: ChangeName | None
    """Its class; null for what is in none of them, such as `passed` to `skipped`."""
    before: str | None
    """Its outcome in A, or `flaky` where it failed and then passed; null where it is not there."""
    after: str | None
    """Its outcome in B, likewise."""
    known: bool = False
    """Whether it fails in B and the vendor's list of known failures covers it."""
    required: bool = True
    """False for a test of an advisory suite."""
    message: str | None = None
    """First line of its failure: the one in B, or the one in A where it fails in A only."""


class Difference(Record):
    """How run B differs from run A."""

    schema_version: int = 1
    """Version of this file's schema."""
    before: RunFacts
    """A."""
    after: RunFacts
    """B."""
    worse: tuple[str, ...]
    """Why B is worse than A, a sentence each; empty when it is not."""
    commits: str | None
    """Page of PyTorch's commits between the two; null where they are the same or unknown."""
    tests: tuple[TestDifference, ...]
    """Tests that differ or fail in both, in the order of B, then those that are in A only."""
    unchanged: int
    """Tests with the same result in both, failures excepted."""
    no_longer_run: int
    """Tests that were executed in A, are still there in B, and were not executed."""

    @property
    def total(self) -> int:
        """Tests that are in A, in B or in both."""
        return len(self.tests) + self.unchanged
