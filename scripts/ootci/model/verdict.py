"""verdicts.json: what each device's runs mean, derived once by the judge and only read by everything else."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from ootci.model.build import StageName
from ootci.model.outcome import Counts, OutcomeName
from ootci.model.record import Record, StageFile, Time
from ootci.model.torch_build import TorchBuild, TorchRequest


class VerdictName(str, Enum):
    """The verdicts, in their order of precedence: the first that applies is the verdict."""

    PAUSED = "PAUSED"
    NEVER_RAN = "NEVER_RAN"
    NO_DATA = "NO_DATA"
    INFRA = "INFRA"
    BUILD_BROKEN = "BUILD_BROKEN"
    IMPORT_BROKEN = "IMPORT_BROKEN"
    SMOKE_BROKEN = "SMOKE_BROKEN"
    REGRESSED = "REGRESSED"
    LOST_TESTS = "LOST_TESTS"
    FAILING = "FAILING"
    UNSTABLE = "UNSTABLE"
    KNOWN = "KNOWN"
    OK = "OK"


AS_EXPECTED = frozenset({VerdictName.OK, VerdictName.KNOWN})
"""Verdicts with which nothing needs anybody's attention."""

BROKEN = frozenset(
    {
        VerdictName.BUILD_BROKEN,
        VerdictName.IMPORT_BROKEN,
        VerdictName.SMOKE_BROKEN,
        VerdictName.REGRESSED,
        VerdictName.LOST_TESTS,
        VerdictName.FAILING,
    }
)
"""Verdicts that say that the device, or PyTorch under it, does something wrong."""


class ChangeName(str, Enum):
    """How a test differs between a run and the run before it."""

    REGRESSION = "regression"
    FIXED = "fixed"
    NEW_FAILURE = "new_failure"
    STILL_FAILING = "still_failing"
    NEW_PASS = "new_pass"  # noqa: S105 - a test that passes, not a password
    APPEARED = "appeared"
    DISAPPEARED = "disappeared"


class Change(Record):
    """One test that differs from the run before, or that keeps failing."""

    id: str
    """The test."""
    change: ChangeName
    """How it differs."""
    before: OutcomeName | None = None
    """Its outcome in the run before; null when it was not there."""
    after: OutcomeName | None = None
    """Its outcome now; null when it is not there."""


class Night(Record):
    """A device's verdict on one nightly, for the strip of past nights."""

    plan_id: str
    """The nightly."""
    date: Time
    """When the nightly was planned."""
    verdict: VerdictName
    """The verdict of that night."""
    run_id: str | None = None
    """The run that it was derived from; null when nothing was reported."""


class DeviceVerdict(Record):
    """What the newest nightly means for one device."""

    device: str
    """Name of the device."""
    verdict: VerdictName
    """The verdict."""
    reason: str
    """One sentence that a maintainer understands."""
    since: Time | None = None
    """The first of the unbroken row of nights with this verdict; null when no night had it."""
    nights: int = 0
    """How many nights in a row it has had this verdict."""
    broke_at: StageName | None = None
    """The stage where it broke; null when no stage did."""
    run_id: str | None = None
    """The run that the verdict was derived from; null when nothing was reported."""
    reported_at: Time | None = None
    """When that run finished."""
    torch_request: TorchRequest | None = None
    """The torch wanted and got."""
    torch: TorchBuild | None = None
    """The torch that was installed."""
    counts: Counts = Counts()
    """Tests of the required suites by outcome."""
    new_failures: int = 0
    """Tests that fail now and did not fail in the run before."""
    changes: tuple[Change, ...] = ()
    """Every test whose change is worth showing, in the order of the run."""
    history: tuple[Night, ...] = ()
    """Past nights, oldest first, the newest included."""


class Gate(Record):
    """May one merge?"""

    may_merge: bool
    """False as soon as one gating device is not as expected."""
    blocking: tuple[str, ...] = ()
    """Names of the devices that block."""
    reason: str
    """One sentence."""


class Verdicts(StageFile):
    """What each registered device's runs mean."""

    FILE: ClassVar[str] = "verdicts.json"
    WRITTEN_BY: ClassVar[str] = "ootci judge"

    judged_at: Time
    """The `now` that staleness was judged against."""
    plan_id: str | None = None
    """The newest nightly; null when there has been none."""
    planned_at: Time | None = None
    """When that nightly was planned."""
    stale_reason: str | None = None
    """Why the page cannot be trusted to be fresh; null when the newest nightly is young enough at `judged_at`."""
    summary: str
    """The one sentence of the front page."""
    gate: Gate
    """May one merge?"""
    devices: tuple[DeviceVerdict, ...]
    """One per device file, in registry order; a device that never reported is here too."""
