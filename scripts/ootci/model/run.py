"""run.json: one device, one torch build, one plugin commit, one attempt."""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from ootci.model.build import PluginBuild, StageName, StageResult
from ootci.model.outcome import Counts, Outcome
from ootci.model.record import Record, Rows, StageFile, Time
from ootci.model.torch_build import TorchBuild, TorchRequest


class ReportState(str, Enum):
    """What became of a suite's report. Only ``complete`` may be green."""

    COMPLETE = "complete"
    TRUNCATED = "truncated"
    EMPTY = "empty"
    UNREADABLE = "unreadable"
    MISSING = "missing"
    NO_TESTS = "no_tests"
    NOT_EXPECTED = "not_expected"
    """The suite was not started, because a stage before it failed."""


class SuiteReport(Record):
    """What one suite reported."""

    suite: str
    """Name of the suite."""
    required: bool
    """False for an advisory suite: shown, but it does not decide the verdict."""
    min_tests: int = 1
    """Fewer collected tests than this were to be lost tests."""
    state: ReportState
    """What became of its report."""
    detail: str | None = None
    """One line, when the state is not ``complete``."""
    counts: Counts = Counts()
    """Its tests by outcome."""


class OperatorCount(Record):
    """How often one operator ran, as the device counted it."""

    operator: str
    """Its name, such as ``aten::add.Tensor``."""
    native: int = 0
    """How often the plugin's own kernel ran."""
    fallback: int = 0
    """How often it ran on the CPU, through the plugin's fallback."""


class Environment(Record):
    """Where the run took place, as far as it is known."""

    python: str | None = None
    """Version of the device environment's Python."""
    os: str | None = None
    """Platform string."""
    machine: str | None = None
    """Processor architecture."""
    cpus: int | None = None
    """Processors that the machine has."""
    compiler: str | None = None
    """C++ compiler."""
    runner: str | None = None
    """Runner's name under GitHub Actions."""
    devices: int | None = None
    """Cards that torch counts for the device."""


class Run(StageFile):
    """One device, one torch build, one plugin commit, one attempt."""

    FILE: ClassVar[str] = "run.json"
    WRITTEN_BY: ClassVar[str] = "ootci collect"

    id: str
    """Identity of the run: the plan's id and the device's name."""
    plan_id: str
    """The nightly that it belongs to."""
    device: str
    """Name of the device."""
    attempt: int = 1
    """1 for the first attempt; attempts are kept and the latest counts."""
    started_at: Time
    """When the first stage started."""
    finished_at: Time
    """When the last stage ended."""
    torch_request: TorchRequest
    """The torch that was wanted, and the one that was got instead, with the reason."""
    torch: TorchBuild | None = None
    """The torch that was installed."""
    plugin: PluginBuild | None = None
    """The plugin that was installed."""
    environment: Environment = Environment()
    """Where the run took place."""
    stages: Rows[StageResult]
    """Every stage, in order, run or not."""
    suites: Rows[SuiteReport] = ()
    """What each suite reported."""
    outcomes: Rows[Outcome] = ()
    """Every test."""
    operators: Rows[OperatorCount] = ()
    """Operators that the suites used, by name, where the device counts them (``torch.<name>.operator_counts()``)."""
    url: str | None = None
    """Page of the workflow run, where there is one."""

    @property
    def counts(self) -> Counts:
        """Tests of all suites by outcome."""
        return Counts.of(self.outcomes)

    @property
    def stage_reached(self) -> StageName | None:
        """The last stage that was started; null when none was."""
        started = [stage.name for stage in self.stages if stage.started_at is not None]
        return started[-1] if started else None

    @property
    def duration(self) -> float:
        """Seconds from the first stage's start to the last one's end."""
        return (self.finished_at - self.started_at).total_seconds()
