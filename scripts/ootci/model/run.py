"""run.json: one device, one torch build, one plugin commit, one attempt."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field, field_validator

from ootci.model.build import PluginBuild, StageName, StageResult, StageStatus
from ootci.model.capability import CapabilityState
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.record import Record, Rows, StageFile, Time
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest, is_release, release_of


class ReportState(str, Enum):
    """The state of a suite's report. Only ``complete`` may be green."""

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
    """The state of its report."""
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


class PassingDeclaration(Record):
    """A declaration of the suite `upstream` whose tests all pass, so that it is not needed."""

    declaration: str
    """The key of the device file, and what it names: an operator that is not in `operators`, or a class or method of
    `exclusions`."""
    tests: int
    """How many tests passed."""


class CapabilityCounts(Record):
    """The tests of one capability, whichever suites they belong to."""

    capability: str
    """Id of the capability."""
    counts: Counts
    """Its tests by outcome."""
    trivial: Annotated[int, Field(exclude_if=lambda count: count == 0)] = 0
    """How many of those that passed pass on a device that lacks the capability, too."""

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> tuple[CapabilityCounts, ...]:
        """Count outcomes, by the capability's id."""
        found: dict[str, list[Outcome]] = {}
        for outcome in outcomes:
            if outcome.capability is not None:
                found.setdefault(outcome.capability, []).append(outcome)
        return tuple(
            cls(
                capability=name,
                counts=Counts.of(found[name]),
                trivial=sum(item.outcome is OutcomeName.PASSED and item.id in trivial_tests() for item in found[name]),
            )
            for name in sorted(found)
        )

    @property
    def state(self) -> CapabilityState:
        """Its state by its tests: it works only where every test that applies passed."""
        counts = self.counts
        if counts.failures:
            return CapabilityState.FAILING
        if counts.not_run:
            return CapabilityState.NOT_RUN
        if counts.unsupported and counts.passed <= self.trivial:
            return CapabilityState.UNSUPPORTED
        if counts.passed == self.asked:
            return CapabilityState.WORKS if counts.skipped <= self.asked else CapabilityState.SKIPPED
        is_torch = counts.passed + counts.xfailed == self.asked
        return CapabilityState.XFAILED if is_torch else CapabilityState.PART

    @property
    def asked(self) -> int:
        """How many of its tests apply: all but those that say why they do not."""
        return self.counts.total - self.counts.skipped


@cache
def trivial_tests() -> frozenset[str]:
    """Ids of the tests that pass on a device that lacks their capability, as was measured on one."""
    lines = Path(__file__).with_name("trivial.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if not line.startswith("#"))


class Links(Record):
    """Where more is to be found. Addresses are hostile until checked: some contain text of a device run."""

    plugin_commit: str | None = None
    """Page of the plugin's commit, where the plugin comes from a git repository on the web."""
    report: str | None = None
    """File name, in the run's folder, of the one JUnit report of the run."""
    log: str | None = None
    """File name, in the run's folder, of the log of the first stage that did not pass."""


class Environment(Record):
    """Where the run took place, as far as it is known."""

    python: str | None = None
    """Version of the device environment's Python."""
    os: str | None = None
    """Platform string."""
    glibc: str | None = None
    """Version of the C library."""
    machine: str | None = None
    """Processor architecture."""
    cpus: int | None = None
    """Processors that the machine has."""
    compiler: str | None = None
    """C++ compiler."""
    built_on: Annotated[str | None, Field(exclude_if=lambda place: place is None)] = None
    """The machine that built the plugin, where it was another one."""
    runner: str | None = None
    """Runner's name under GitHub Actions."""
    devices: int | None = None
    """Cards that torch counts for the device."""
    image: str | None = None
    """Container image with its digest, from the variable OOTCI_IMAGE of the job."""
    device_facts: dict[str, str] = Field(default_factory=dict)
    """Facts that the device reports: `driver`, `firmware`, `runtime` and `sdk` as the check command printed them,
    `lacks` with what it does not have of what PyTorch leaves to a device, `missing functions` with what its module does
    not have of what PyTorch calls, and the properties of its first card as torch has them, each as
    `card.<property>`."""
    ootci: str | None = None
    """Version of ootci that put the run together."""


class TakenFrom(Record):
    """Where a run was taken from that took place elsewhere, and when."""

    address: str
    """Address of its run.json, as the device file has it."""
    taken_at: Time
    """When it was imported."""
    run_id: str
    """Its identity there."""


class Run(StageFile):
    """One device, one torch build, one plugin commit, one attempt."""

    FILE: ClassVar[str] = "run.json"
    VERSION: ClassVar[int] = 2
    WRITTEN_BY: ClassVar[str] = "ootci collect"

    schema_version: int = 2
    """Version of this file's schema; a reader refuses versions newer than its own."""
    id: str
    """Identity of the run: the plan's id and the device's name."""
    plan_id: str
    """The nightly that it belongs to."""
    device: str
    """Name of the device."""
    attempt: Annotated[int, Field(ge=1)] = 1
    """1 for the first attempt; attempts are kept and the latest counts."""
    queued_at: Time | None = None
    """When it began to wait for its machine: when the plan was made, which is a little before the job could start. Null
    for a later attempt, whose beginning nobody told."""
    started_at: Time
    """When the first stage started."""
    finished_at: Time
    """When the last stage ended."""
    torch_request: TorchRequest
    """The requested torch, and the one that was tested instead, with the reason."""
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
    capabilities: Rows[CapabilityCounts] = ()
    """Tests of all suites by capability."""
    outcomes: Rows[Outcome] = ()
    """Every test; no id is there twice."""
    operators: Rows[OperatorCount] = ()
    """Operators that the suites used, by name, where the device counts them (``torch.<name>.operator_counts()``)."""
    passing_declarations: Annotated[
        tuple[PassingDeclaration, ...] | None, Field(exclude_if=lambda found: found is None, max_length=1000)
    ] = None
    """Declarations of the suite `upstream` that are not needed; null where they were not tried."""
    url: str | None = None
    """Page of the workflow run, where there is one."""
    external: Annotated[TakenFrom | None, Field(exclude_if=lambda found: found is None)] = None
    """Where it was taken from, of a device that is run elsewhere."""
    links: Links = Links()
    """Where more is to be found."""

    @field_validator("outcomes")
    @classmethod
    def _each_once(cls, outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
        if len({outcome.id for outcome in outcomes}) != len(outcomes):
            raise ValueError("two tests have one id")
        return outcomes

    def recounted(self) -> Run:
        """The run with the counts that its outcomes have; those in a report may be other ones."""
        found: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            found.setdefault(outcome.suite, []).append(outcome)
        suites = [one.model_copy(update={"counts": Counts.of(found.get(one.suite, ()))}) for one in self.suites]
        return self.model_copy(update={"suites": tuple(suites), "capabilities": CapabilityCounts.of(self.outcomes)})

    @property
    def counts(self) -> Counts:
        """Tests of all suites by outcome."""
        return Counts.of(self.outcomes)

    @property
    def required_suites(self) -> frozenset[str]:
        """Names of the suites that decide the verdict."""
        return frozenset(report.suite for report in self.suites if report.required)

    @property
    def complete_suites(self) -> frozenset[str]:
        """Names of the suites that were reported completely."""
        return frozenset(report.suite for report in self.suites if report.state is ReportState.COMPLETE)

    @property
    def is_unreadable(self) -> bool:
        """Whether it tells only that there was a report that cannot be used."""
        states = {report.state for report in self.suites}
        return not self.stages and states == {ReportState.UNREADABLE}

    @property
    def is_offline(self) -> bool:
        """Whether it tells only that no machine took the job."""
        told = [(stage.name, stage.status, stage.started_at) for stage in self.stages]
        return not self.outcomes and told == [(StageName.CHECK.value, StageStatus.FAILED, None)]

    @property
    def is_report(self) -> bool:
        """Whether the device reported it; else it was made here, because no report came or none that can be used."""
        return not self.is_unreadable and not self.is_offline

    @property
    def channel(self) -> Channel | None:
        """The channel whose nights the run can be compared with; None where another torch replaced the requested one.

        A release with the version of a nightly counts as such a replacement, too.
        """
        request = self.torch_request
        if request.channel is not request.wanted_channel:
            return None
        nightly = request.channel is Channel.NIGHTLY
        return None if nightly and self.torch is not None and is_release(self.torch.version) else request.channel

    @property
    def release(self) -> tuple[int, ...] | None:
        """Major and minor version of the torch that was planned, or found in the environment that was given."""
        found = self.torch.version if self.torch is not None else None
        return release_of(self.torch_request.version or found)

    @property
    def unreadable(self) -> str | None:
        """Why its report could not be read; None where it could. Such a run has no stages and no tests."""
        return self.suites[0].detail if self.is_unreadable else None

    def stage(self, name: str) -> StageResult | None:
        """The stage of a name; the file comes from a device's job, so it may lack a suite's."""
        return next((stage for stage in self.stages if stage.name == name), None)

    @property
    def stage_reached(self) -> str | None:
        """The last stage that was started; null when none was."""
        started = [stage.name for stage in self.stages if stage.started_at is not None]
        return started[-1] if started else None

    @property
    def queue_duration(self) -> float | None:
        """Seconds that it waited before the first stage; null when that is not known."""
        return None if self.queued_at is None else (self.started_at - self.queued_at).total_seconds()

    @property
    def duration(self) -> float:
        """Seconds from the first stage's start to the last one's end."""
        return (self.finished_at - self.started_at).total_seconds()
