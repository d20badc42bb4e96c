"""The files below ``api/v1`` of a site, for other people's programs. The history and the verdicts stay the truth.

Within ``v1`` a key keeps its meaning and is not taken away; new ones may come, so that readers pass over what they do
not know. Addresses are relative to the file in which they stand. Texts come from device runs: hostile until escaped.
"""

from __future__ import annotations

from ootci.model.build import AnyStage, PluginBuild, StageStatus
from ootci.model.cluster import Cluster
from ootci.model.device import Tier
from ootci.model.outcome import Counts, OutcomeName, PassRate
from ootci.model.record import Record, Time
from ootci.model.run import Environment, SuiteReport
from ootci.model.torch_build import TorchBuild, TorchRequest
from ootci.model.verdict import Gate, Night, VerdictName

API_VERSION = "v1"
SCHEMA_VERSION = 1


class Published(Record):
    """A file of the API."""

    schema_version: int = SCHEMA_VERSION
    """Version of this file's schema."""

    def to_json(self) -> str:
        """The canonical text, as of a stage file."""
        return self.model_dump_json(indent=1) + "\n"


class Compact(Published):
    """A file of the API of which there are many, or which is long."""

    def to_json(self) -> str:
        """The text on one line."""
        return self.model_dump_json() + "\n"


class DeviceEntry(Record):
    """One device as the front page shows it."""

    device: str
    """Name of the device."""
    display_name: str
    """Its name for people."""
    vendor: str
    """Who makes it."""
    tier: Tier
    """How much it counts."""
    gates: bool
    """Whether it can block a merge."""
    verdict: VerdictName
    """The verdict."""
    reason: str
    """One sentence."""
    verdict_since: Time | None
    """When the verdict began; null where that is not known."""
    broken_since: Time | None
    """The first night of the broken streak that lasts, whatever verdicts it had; null when the device is not broken."""
    nights: int
    """How many nights in a row it has had this verdict."""
    broke_at: AnyStage | None
    """The stage where it broke; null when no stage did."""
    run_id: str | None
    """The run that the verdict was derived from; null when nothing was reported."""
    reported_at: Time | None
    """When that run finished."""
    counts: Counts
    """Tests of the required suites by outcome."""
    pass_rate: PassRate
    """How many of them passed of those that were executed."""
    new_failures: int
    """Tests that fail now, did not fail in the run before, and are not known failures."""
    known: int
    """Failing tests that the vendor knows of."""
    torch_request: TorchRequest | None
    """The torch wanted and got."""
    torch: TorchBuild | None
    """The torch that was installed."""
    page: str
    """Address of its page."""
    run_page: str | None
    """Address of the permanent page of that run."""
    history: str
    """Address of its past nights."""
    badge: str
    """Address of its badge as a picture."""
    badge_endpoint: str
    """Address of its badge as shields.io asks for it."""
    feed: str
    """Address of its Atom feed."""


class DevicesFile(Published):
    """devices.json: every registered device."""

    judged_at: Time
    """The `now` that staleness was judged against."""
    plan_id: str | None
    """The newest nightly; null when there has been none."""
    stale_reason: str | None
    """Why the site cannot be trusted to be fresh; null when it was at `judged_at`."""
    devices: tuple[DeviceEntry, ...]
    """One per device file, in registry order; a device that never reported is here too."""


class GateHead(Published):
    """What an answer about merging is about."""

    judged_at: Time
    """The `now` that staleness was judged against."""
    plan_id: str | None
    """The newest nightly; null when there has been none."""
    planned_at: Time | None
    """When that nightly was planned."""
    stale_reason: str | None
    """Why the answer cannot be trusted to be fresh; null when it was at `judged_at`."""


class GateFile(Gate, GateHead):
    """gate.json: may one merge?"""


class NightEntry(Night):
    """A past night, and where its run can be looked at."""

    page: str | None
    """Address of the permanent page of the night's run; null where nothing was reported."""


class NightsFile(Published):
    """nights/<device>.json: the strip of a device's past nights."""

    device: str
    """Name of the device."""
    nights: tuple[NightEntry, ...]
    """Oldest first."""


class RunEntry(Record):
    """One attempt of a device, and where it stands."""

    id: str
    """Identity of the run; attempts share it."""
    plan_id: str
    """The nightly that it belongs to."""
    attempt: int
    """1 for the first attempt."""
    counts: bool
    """Whether it is the last attempt of its nightly, which is the one that counts."""
    started_at: Time
    """When the first stage started."""
    path: str
    """Address of its file."""
    page: str
    """Address of its page."""


class RunsFile(Published):
    """runs/<device>.json: every attempt of a device."""

    device: str
    """Name of the device."""
    runs: tuple[RunEntry, ...]
    """Oldest nightly first, and of a nightly the first attempt first."""


class RunStage(Record):
    """One stage of a run."""

    name: AnyStage
    """The stage."""
    status: StageStatus
    """How it ended."""
    duration: float
    """Seconds that it took."""
    reason: str | None
    """One line: why it did not pass."""
    only_tests: bool
    """Whether failing tests are all that was wrong with it."""


class OutcomeRows(Record):
    """Tests that came to one outcome, unless a later entry names them, too."""

    outcome: OutcomeName
    """What came of them."""
    rows: str
    """Their rows, ascending, with spaces between: each as its distance from the row before, the first from 0. `+n`
    after one stands for n more rows in sequence, of which the last is the row before the next. `3 2+4` are the rows 3
    and 5 to 9."""


class RunFile(Compact):
    """runs/<device>/<nightly>.<attempt>.json: what came of every test of one attempt. It does not change."""

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
    finished_at: Time
    """When the last stage ended."""
    torch_request: TorchRequest
    """The torch wanted and got."""
    torch: TorchBuild | None
    """The torch that was installed."""
    plugin: PluginBuild | None
    """The plugin that was installed."""
    environment: Environment
    """Where the run took place."""
    stages: tuple[RunStage, ...]
    """Every stage, in order, run or not."""
    suites: tuple[SuiteReport, ...]
    """What each suite reported."""
    counts: Counts
    """Tests of all suites by outcome."""
    outcomes: tuple[OutcomeRows, ...]
    """What came of every test, to be read in order: a row that is named again has the later outcome. The first entry
    names all tests of the run."""
    flaky: str
    """Rows of the failing tests that passed when they were run again, written as in `outcomes`."""
    known: str
    """Rows of the failing tests that the vendor knew of on that night, written as in `outcomes`."""
    tests: str
    """Address of the folder that tells which test a row is: row r stands in its file `<n>.json` with n = r divided by
    `tests_each`, rounded down."""
    tests_each: int
    """How many rows each of those files has."""


class TestEntry(Record):
    """A test, whichever devices it ran on."""

    __test__ = False  # not a test of pytest, whatever its name

    id: str
    """The test."""
    suite: str
    """The suite that it belongs to."""
    capability: str | None
    """The capability that it proves."""


class TestsFile(Published):
    """tests/<n>.json: which tests some rows are. A row keeps its test; new tests get new rows.

    A test whose suite, capability or title changed has several rows, of which a run has one.
    """

    __test__ = False  # not a test of pytest, whatever its name

    first: int
    """The row of the first test here; the others follow. Only the last of these files can have fewer than
    `tests_each`, and grow."""
    tests: tuple[TestEntry, ...]
    """In the order of rows."""


class ClustersFile(Published):
    """clusters.json: what fails on the newest nightly, by what it says."""

    judged_at: Time
    """The `now` that staleness was judged against."""
    plan_id: str | None
    """The newest nightly; null when there has been none."""
    clusters: tuple[Cluster, ...]
    """New ones first, then those of the most devices."""


class IndexEntry(Record):
    """One file of the API."""

    path: str
    """Address of the file."""
    schema_path: str
    """Address of its schema."""
    schema_version: int
    """Version of its schema."""
    about: str
    """What it has, one sentence."""


class IndexFile(Published):
    """index.json: which files there are."""

    api_version: str
    """The folder's name; a file that changes its meaning comes below another one."""
    judged_at: Time
    """The `now` that staleness was judged against."""
    files: tuple[IndexEntry, ...]
    """Every other file but the schemas."""
