"""verdicts.json: what each device's runs mean, derived once by the judge and only read by everything else."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ootci.model.build import AnyStage, PluginBuild
from ootci.model.cluster import Cause, Cluster, Streak
from ootci.model.compat import Predicted
from ootci.model.device import KnownFailure
from ootci.model.outcome import Counts, OutcomeName, PassRate
from ootci.model.record import Record, StageFile, Time, compact_record
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


NEW_FAILURES = frozenset({ChangeName.REGRESSION, ChangeName.NEW_FAILURE})
"""The changes of tests that fail and did not fail in the run before."""

FAILING = NEW_FAILURES | {ChangeName.STILL_FAILING}
"""The changes of tests that fail."""


@compact_record
class Change:
    """One test that differs from the run before, or that keeps failing."""

    id: str
    """The test."""
    change: ChangeName
    """How it differs."""
    before: OutcomeName | None = None
    """Its outcome in the run before; null when it was not there."""
    after: OutcomeName | None = None
    """Its outcome now; null when it is not there."""
    known: bool = False
    """Whether it fails now and the vendor's list of known failures covers it."""
    signature: Annotated[str | None, Field(exclude_if=lambda found: found is None)] = None
    """Of a failing test, the id of the signature of its cluster; absent where it does not fail."""
    streak: Annotated[int | None, Field(exclude_if=lambda place: place is None)] = None
    """Of a failing test, the place of its streak in the device's list `streaks`."""


class KnownFailureState(str, Enum):
    """The state of an entry of the vendor's known failures."""

    COVERS = "covers"
    """Its tests fail, as declared."""
    PASSES = "passes"
    """At least one of its tests passes: it asks to be removed, or to name fewer tests."""
    UNMATCHED = "unmatched"
    """No test has such an id, although its suite's report is complete."""
    EXPIRED = "expired"
    """Its last day is over; its tests are failures again."""
    OTHER_TORCH = "other_torch"
    """It does not count on the torch of this run."""
    UNSEEN = "unseen"
    """None of its tests ran."""


class KnownFailureReview(Record):
    """An entry of the list that was valid on that night, and its state."""

    entry: KnownFailure
    """The entry."""
    state: KnownFailureState
    """Its state."""
    failing: int = 0
    """Tests of the run that it names and that fail."""
    passing: int = 0
    """Tests of the run that it names and that pass."""
    passes: tuple[str, ...] = ()
    """The first of those that pass."""


class ExpectationState(str, Enum):
    """Whether what is declared unsupported really is."""

    HOLDS = "holds"
    """No test of it passes."""
    WORKS = "works"
    """Every test of it passes: the claim asks to be removed."""
    PARTLY = "partly"
    """Some of its tests pass."""
    UNSEEN = "unseen"
    """None of its tests ran."""


class ExpectationReview(Record):
    """A declaration that the device lacks something, and whether that is true."""

    declared: str
    """The id of a capability; or a name after its key of the suite `upstream`, as `exclusions: TestFFT.test_fft`."""
    reason: str | None = None
    """Why the device does not have it, as declared; null where the device file gives no reason."""
    state: ExpectationState
    """Whether that is true."""
    passing: int = 0
    """Tests of it that pass."""
    seen: int = 0
    """Tests of it that ran."""


class Before(Record):
    """What a night was before a late report."""

    verdict: VerdictName
    """Its verdict."""
    reason: str
    """Why, one sentence."""
    until: Time
    """When the late report arrived."""


class Night(Record):
    """A device's verdict on one nightly, for the strip of past nights."""

    plan_id: str
    """The nightly."""
    date: Time
    """When the nightly was planned."""
    verdict: VerdictName
    """The verdict of that night."""
    reason: Annotated[str | None, Field(exclude_if=lambda found: found is None)] = None
    """Why, one sentence; absent where all was as expected."""
    run_id: str | None = None
    """The run that it was derived from; null when nothing was reported."""
    fallback: Annotated[bool, Field(exclude_if=lambda found: not found)] = False
    """Whether another torch replaced the requested one, so that the night is no evidence; absent where none did."""
    before: Annotated[Before | None, Field(exclude_if=lambda before: before is None)] = None
    """What it was before a late report; absent where the report came in time, or never."""


class DeviceVerdict(Record):
    """The verdict on one device on the newest nightly."""

    device: str
    """Name of the device."""
    verdict: VerdictName
    """The verdict."""
    reason: str
    """One sentence that a maintainer understands."""
    verdict_since: Time | None = None
    """The first night in a row with this verdict, or when the newest became too old; null when neither is known."""
    broken_since: Time | None = None
    """The first night of the broken streak that lasts, whatever verdicts it had: only a night as expected on the same
    channel ends one. Null when the device is not broken."""
    nights: int = 0
    """How many nights in a row it has had this verdict."""
    is_new: Annotated[bool, Field(exclude_if=lambda new: not new)] = False
    """Whether it broke on the newest nightly, and has reported before; absent where not."""
    broke_at: AnyStage | None = None
    """The stage where it broke; null when no stage did."""
    run_id: str | None = None
    """The run that the verdict was derived from; null when nothing was reported."""
    reported_at: Time | None = None
    """When that run finished."""
    torch_request: TorchRequest | None = None
    """The torch requested and the torch tested."""
    torch: TorchBuild | None = None
    """The torch that was installed."""
    plugin: Annotated[PluginBuild | None, Field(exclude_if=lambda plugin: plugin is None)] = None
    """The plugin that was installed; absent where none was."""
    torch_changed: bool | None = None
    """Whether PyTorch changed since the run before; null where that cannot be told."""
    plugin_changed: bool | None = None
    """Whether the plugin changed since the run before; null where that cannot be told."""
    counts: Counts = Counts()
    """Tests of the required suites by outcome."""
    pass_rate: PassRate = PassRate(passed=0, executed=0)
    """How many of them passed of those that were executed."""
    new_failures: int = 0
    """Tests that fail now, did not fail in the run before, and are not known failures."""
    is_first: Annotated[bool, Field(exclude_if=lambda first: not first)] = False
    """Whether nothing was reported before that this run could be compared with, so that what fails is no news; absent
    where something was."""
    known: int = 0
    """Failing tests of the required suites that the vendor knows of; `counts` has them among the failures."""
    known_failures: tuple[KnownFailureReview, ...] = ()
    """Every entry of the vendor's list of that night, in the list's order."""
    unsupported: tuple[ExpectationReview, ...] = ()
    """Every capability that was declared unsupported on that night, and the operators and tests of PyTorch that are
    declared, too, and passed when they were last tried."""
    changes: tuple[Change, ...] = ()
    """Every test whose change is worth showing, by id, those that disappeared last."""
    streaks: Annotated[tuple[Streak, ...], Field(exclude_if=lambda streaks: not streaks)] = ()
    """Since when its tests and stages fail, each row of failures once, in the order in which they began."""
    history: tuple[Night, ...] = ()
    """Past nights, oldest first, the newest included."""

    @property
    def since(self) -> datetime | None:
        """The date that is shown: since when it is broken, else since when it has its verdict."""
        return self.broken_since or self.verdict_since

    @property
    def nights_since(self) -> int:
        """How many nights there have been since then, of those in `history`; fallback nights are not counted."""
        since = self.broken_since
        if since is None:
            return self.nights
        return sum(night.date >= since and not night.fallback for night in self.history)

    @property
    def is_fallback(self) -> bool:
        """Whether another torch replaced the requested one on its newest night."""
        return bool(self.history) and self.history[-1].fallback


class OtherTorchVerdict(Record):
    """The verdict on the newest run of a device on a torch that its file names in `torch.also`."""

    device: str
    """Name of the device."""
    run_as: str
    """The name that its runs on that torch have."""
    torch: str | None
    """The version that was planned; null when none could be downloaded, or none was planned yet."""
    verdict: VerdictName
    """The verdict."""
    reason: str
    """One sentence that a maintainer understands."""
    since: Time | None = None
    """The first of the unbroken row of nights, on that minor version of torch, that were as expected, or that were
    broken; null when the newest was neither."""
    broke_at: AnyStage | None = None
    """The stage where it broke; null when no stage did."""
    run_id: str | None = None
    """The run that the verdict was derived from; null when nothing was reported."""


class Blocker(Record):
    """A gating device that is broken."""

    device: str
    """Name of the device."""
    verdict: VerdictName
    """Its verdict."""
    reason: str
    """Why, one sentence."""
    broken_since: Time | None = None
    """The first night of the broken streak that lasts."""
    is_new: bool
    """Whether it broke on the newest nightly, and has reported before."""
    new_failures: int = 0
    """Tests that fail now and did not fail in the run before."""
    is_first: Annotated[bool, Field(exclude_if=lambda first: not first)] = False
    """Whether it has never reported before, so that its failures are no news; absent where it has."""
    first: tuple[str, ...] = ()
    """The first of them."""
    cause: Cause | None = None
    """The likely cause of most new failures on it; null when nothing is new."""
    cause_reason: str | None = None
    """Why, one sentence."""


Answer = Literal["yes", "no", "cannot_say"]
"""The gate's answer. `no` is only for confirmed failures; `cannot_say` where too little is known of tonight."""


class GateAnswer(Record):
    """May one merge, by the results of the gating devices?"""

    answer: Answer
    """`no` as soon as one gating device blocks; `cannot_say` where too few of them have a result."""
    reason: str
    """One sentence."""
    blocking: tuple[str, ...] = ()
    """Names of the devices that block."""
    without_result: Annotated[dict[str, str], Field(exclude_if=lambda names: not names)] = Field(default_factory=dict)
    """Why a gating device has no result, by name: such a device neither blocks nor vouches. Absent where all have
    one."""
    overridden: dict[str, str] = Field(default_factory=dict)
    """The reason given for each override, by name of the device."""


class Gate(GateAnswer):
    """May one merge, by the newest nightly?"""

    blockers: tuple[Blocker, ...] = ()
    """The reason for each device that blocks."""
    doubt: Annotated[str | None, Field(exclude_if=lambda why: why is None)] = None
    """Why the newest nightly is no evidence about tonight's torch: then the answer is cannot_say. Else absent."""
    predicted: Annotated[tuple[str, ...], Field(exclude_if=lambda names: not names)] = ()
    """Devices for which a break is predicted. The answer rests on measured results only, and not on these. Absent where
    there are none."""
    alone: Annotated[tuple[str, ...], Field(exclude_if=lambda names: not names)] = ()
    """The devices that somebody chose for a run on their own machine: the answer omits others. Absent where every
    gating device was asked."""


class GateRecord(Record):
    """How right the gate was, by the history: its answers on past nightlies, with the devices that gate today."""

    nights: int = 0
    """Nightlies that it would have answered on."""
    yes: int = 0
    """How often it answered yes."""
    no: int = 0
    """How often it answered no."""
    cannot_say: int = 0
    """How often the answer was cannot_say."""
    alarms: int = 0
    """Nights on which it answered no for a failure that its device did not have on the night before."""
    repeated: int = 0
    """Alarms whose failure was seen again on the next night: real breaks."""
    not_repeated: int = 0
    """Alarms whose failure was not seen again on the next night; it may have been fixed or reverted."""
    false_alarms: int = 0
    """Those of them where the same build of torch passed on the next night, so that nothing was fixed in PyTorch."""

    @property
    def open(self) -> int:
        """Alarms after which no night has followed that would tell."""
        return self.alarms - self.repeated - self.not_repeated


class Verdicts(StageFile):
    """The verdict on each registered device."""

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
    stale_at: Time | None = None
    """When the newest nightly becomes too old: after that, without a newer one, this file is stale."""
    summary: str
    """The one sentence of the front page."""
    gate: Gate
    """May one merge?"""
    gate_record: GateRecord = GateRecord()
    """How right the gate was."""
    clusters: tuple[Cluster, ...] = ()
    """The failures of the newest nightly, grouped by error: every failing test and broken stage of every device is in
    exactly one. New ones come first, then those of the most devices."""
    more_clusters: Annotated[int, Field(exclude_if=lambda count: not count)] = 0
    """How many clusters there are besides, of which nothing is kept; absent where there are none."""
    devices: tuple[DeviceVerdict, ...]
    """One per device file, in registry order; a device that never reported is here too."""
    also: Annotated[tuple[OtherTorchVerdict, ...], Field(exclude_if=lambda found: not found)] = ()
    """The devices on the torches of `torch.also`, in registry order. No other verdict, no alert and not the gate rests
    on them. Absent where no file names any."""
    predicted: Annotated[Predicted | None, Field(exclude_if=lambda found: found is None)] = None
    """The predictions from public wheels. No verdict, and not the gate, rests on it. Absent where nothing was."""
