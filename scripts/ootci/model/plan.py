"""plan.json: which devices run on which torch, decided once per nightly."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Annotated, ClassVar

from pydantic import Field

from ootci.errors import NoSuchDevice
from ootci.model.commits import NewCommits
from ootci.model.delivery import Commit, Ref, Repository
from ootci.model.device import KnownFailure, LostTests, RegisteredDevice, Unsupported
from ootci.model.record import Record, StageFile, Time
from ootci.model.relay import RELAY_MINUTES
from ootci.model.torch_build import TorchBuild, TorchRequest


class PlannedSuite(Record):
    """A suite that the run is expected to report."""

    name: str
    """Name of the suite."""
    required: bool = True
    """False for an advisory suite: shown, but it does not decide the verdict."""
    min_tests: int = 1
    """Fewer collected tests than this are lost tests."""


class PlannedRun(Record):
    """One device run that this nightly expects a report from."""

    run_id: str
    """Identity of the run: the plan's id and the device's name."""
    device: str
    """Name of the device."""
    device_sha256: str
    """Checksum of the device file and of the lists in the device's folder at planning time."""
    torch: TorchRequest
    """The torch to test on."""
    suites: tuple[PlannedSuite, ...]
    """The suites that decide the verdict: the plan counts, not the copy of it in a device's report."""
    runner: tuple[str, ...]
    """Labels of the GitHub Actions runner (``runs-on``)."""
    timeout_minutes: int
    """Most time that building and testing may take, in all jobs."""
    known_failures: tuple[KnownFailure, ...] = ()
    """Tests that the vendor knew to fail on that day; a night is always judged by the list of its own day."""
    lost_tests: Annotated[tuple[LostTests, ...], Field(exclude_if=lambda entries: not entries)] = ()
    """Tests whose loss the vendor accepted on that day."""
    failing_before: Annotated[tuple[str, ...] | None, Field(exclude_if=lambda ids: ids is None)] = None
    """Tests that failed when their suite last reported completely, capped in number: any other that fails is retried.
    Null when nothing was reported before."""
    not_retried: Annotated[tuple[str, ...], Field(exclude_if=lambda ids: not ids)] = ()
    """Those of ``failing_before`` that began to fail then and were not retried: a test of these that still fails is
    retried."""
    plugin_before: Annotated[Commit | None, Field(exclude_if=lambda commit: commit is None)] = None
    """The commit of a plugin from git that the device reported last: the build counts the commits since. Absent where
    there is none."""
    unsupported: tuple[Unsupported, ...] = ()
    """Capabilities that the device was declared not to have."""
    tries_declarations: Annotated[bool, Field(exclude_if=lambda tries: not tries)] = False
    """Whether the tests that `operators` and `exclusions` of the suite `upstream` leave out are run, too: after all
    suites, and apart from them, so that no verdict rests on them. Once a week; absent where not."""
    external: Annotated[str | None, Field(exclude_if=lambda address: address is None)] = None
    """Where the report is taken from, of a device that is run elsewhere; it has no job of its own."""

    @classmethod
    def of(
        cls,
        item: RegisteredDevice,
        run_id: str,
        torch: TorchRequest,
        *,
        failing_before: tuple[str, ...] | None = None,
        not_retried: tuple[str, ...] = (),
        plugin_before: str | None = None,
        tries_declarations: bool = False,
        by_name: bool = True,
    ) -> PlannedRun:
        """The run of a device, with the content of its file now; a device requested by name is run here."""
        device = item.device
        return cls(
            run_id=run_id,
            device=device.name,
            device_sha256=item.sha256,
            torch=torch,
            suites=tuple(
                PlannedSuite(name=suite.name, required=suite.required, min_tests=suite.min_tests)
                for suite in device.suites
            ),
            runner=device.runner.labels,
            timeout_minutes=device.minutes,
            known_failures=device.known_failures,
            lost_tests=device.lost_tests,
            failing_before=failing_before,
            not_retried=not_retried,
            plugin_before=plugin_before,
            tries_declarations=tries_declarations,
            unsupported=device.unsupported,
            external=device.external.run if device.external and not by_name else None,
        )

    @property
    def required_suites(self) -> frozenset[str]:
        """Names of the suites that decide the verdict."""
        return frozenset(suite.name for suite in self.suites if suite.required)


NOT_ASKED_FOR = "not requested in this nightly"
"""Why a device does not run where others were chosen by their names."""


class LeftOut(Record):
    """A registered device that this nightly does not run."""

    device: str
    """Name of the device."""
    reason: str
    """Why it does not run; shown on the dashboard."""
    paused: bool
    """True when the device file pauses it; false when this nightly was started for other devices only."""


class Proposal(Record):
    """The commit of PyTorch that is tested where it is no nightly: a pull request's, or one that was pushed."""

    repository: Repository
    """PyTorch's repository, by owner and name."""
    pull_request: Annotated[int | None, Field(ge=1)] = None
    """Number of the pull request; null for a push."""
    commit: Commit
    """The commit that is proposed or was pushed."""
    ref: Ref
    """What is to be built: a pull request as it would be merged, such as ``refs/pull/4711/merge``."""

    def __str__(self) -> str:
        what = f"pull request {self.pull_request}" if self.pull_request else self.ref
        return f"{what} of {self.repository} at {self.commit[:10]}"


LOCAL = "local"
"""The event of a nightly that a person started on their own machine."""
SCHEDULE = "schedule"
"""The event of a nightly that started by itself."""


DELIVERED = ("pull_request", "push")
"""The events that PyTorch's relay delivers."""
REPORT_MINUTES = 15
"""What jobs take before and after a device's own."""


class Trigger(Record):
    """What started the nightly."""

    event: str
    """``schedule``, ``workflow_dispatch``, or ``local`` for a person's own machine; ``pull_request`` or ``push``."""
    url: str | None = None
    """Page of the workflow run, where there is one."""
    proposal: Annotated[Proposal | None, Field(exclude_if=lambda proposal: proposal is None)] = None
    """What of PyTorch is tested instead of a nightly. Such a plan is no nightly, and the history does not keep it."""


class Plan(StageFile):
    """Which devices run on which torch, decided once per nightly."""

    FILE: ClassVar[str] = "plan.json"
    WRITTEN_BY: ClassVar[str] = "ootci plan"

    id: str
    """Identity of the nightly: its UTC date and a suffix that makes it unique."""
    created_at: Time
    """When the plan was made."""
    trigger: Trigger
    """What started the nightly."""
    runs: tuple[PlannedRun, ...]
    """The expected runs, in registry order."""
    left_out: tuple[LeftOut, ...] = ()
    """Registered devices that do not run, in registry order."""
    also: Annotated[tuple[PlannedRun, ...], Field(exclude_if=lambda runs: not runs)] = ()
    """Runs of devices on the torches that their files name in `torch.also`. No verdict of the nightly rests on them, so
    that they are none of `runs`. Absent where there are none."""
    nightly: Annotated[TorchRequest | None, Field(exclude_if=lambda nightly: nightly is None)] = None
    """The nightly on which breaks are predicted where no device runs on one, for example because all are paused. Absent
    elsewhere."""
    new_commits: Annotated[NewCommits | None, Field(exclude_if=lambda commits: commits is None)] = None
    """The commits of PyTorch's branch `main` since the nightly before; absent where they are not known."""

    @property
    def requests(self) -> tuple[TorchRequest, ...]:
        """The torch of every run, and the nightly of predictions."""
        return (*(run.torch for run in self.every_run), *filter(None, (self.nightly,)))

    @property
    def source(self) -> str | None:
        """The commit of PyTorch's branch ``main`` that the nightly was made of, where the plan knows it."""
        return next((request.made_of for request in self.requests if request.made_of), None)

    def told(self, build: TorchBuild) -> TorchBuild:
        """A build, with what it was made of where the plan knows it."""
        told = (request.told(build) for request in self.requests)
        return next((found for found in told if found is not build), None) or build

    @property
    def torch_deadline(self) -> datetime | None:
        """When torch has to be there, so that every device can report before the relay gives up on it.

        None for what the relay did not deliver.
        """
        if self.trigger.event not in DELIVERED:
            return None
        longest = max((run.timeout_minutes for run in self.runs), default=0)
        return self.created_at + timedelta(minutes=RELAY_MINUTES - REPORT_MINUTES - longest)

    @property
    def every_run(self) -> tuple[PlannedRun, ...]:
        """Every expected run, those on other torches last."""
        return (*self.runs, *self.also)

    def expected(self, device: str) -> PlannedRun | None:
        """The run that is expected of a device; None when there is none."""
        return next((run for run in self.every_run if run.device == device), None)

    @property
    def alone(self) -> tuple[str, ...]:
        """The devices that run where somebody chose them on their own machine; none where nobody chose."""
        chosen = any(left.reason == NOT_ASKED_FOR for left in self.left_out)
        return tuple(run.device for run in self.runs) if chosen and self.trigger.event == LOCAL else ()

    def sources_to_compile(self, registry: Iterable[RegisteredDevice]) -> list[str]:
        """The paused devices whose source is compiled instead."""
        paused = {left.device for left in self.left_out if left.paused}
        return [item.device.name for item in registry if item.device.name in paused and item.device.source_to_compile]

    def run_of(self, device: str) -> PlannedRun:
        """The run that is expected of a device.

        Raises:
            NoSuchDevice: the plan has none.

        """
        run = self.expected(device)
        if run is not None:
            return run
        known = ", ".join(run.device for run in self.every_run) or "none"
        raise NoSuchDevice(
            f"the plan {self.id} has no run for `{device}`",
            where=self.FILE,
            fix=f"plan it with --device; planned: {known}",
        )
