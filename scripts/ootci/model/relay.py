"""The reports of one device's run to PyTorch's cross-repository CI relay.

The relay takes a report in one piece: what it delivered, with ``workflow`` beside it. A report of a nightly answers no
delivery: it names the commit of PyTorch that was tested instead, and is the only one of its run.

Source: pytorch/test-infra, ``aws/lambda/cross_repo_ci_relay`` and ``.github/actions/cross-repo-ci-relay-callback``.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Literal

from pydantic import StringConstraints

from ootci.model.delivery import Commit, DeliveryId, PullRequestEvent, PushEvent, RepositoryName
from ootci.model.outcome import Counts
from ootci.model.pull_request import Effect, EffectName
from ootci.model.record import Record, Time
from ootci.model.verdict import AS_EXPECTED, BROKEN, VerdictName

MAX_BYTES = 64 * 1024
"""A report is a tenth of it, with a hundred labels."""
RELAY_MINUTES = 360
"""After these the relay reports a time-out, and takes no result. Source: pytorch/test-infra, the sweeper of
``aws/lambda/cross_repo_ci_relay``."""

Line = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]+$", max_length=200)]
Number = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,19}$")]
Address = Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>\x00-\x1f\x7f]+$", max_length=500)]


class Status(str, Enum):
    """How far a run has come."""

    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"


class Conclusion(str, Enum):
    """The conclusion of a run about the commit, in GitHub's words."""

    SUCCESS = "success"
    """The device is not worse."""
    FAILURE = "failure"
    """It breaks the device."""
    CANCELLED = "cancelled"
    """The result is not needed any more."""
    NEUTRAL = "neutral"
    """Nothing is known: the machine was not there, nothing was reported, or the device was broken before."""


class TestResults(Record):
    """Tests of all suites, in the three groups that the relay knows."""

    __test__ = False  # pytest takes the name for a test's

    passed: int
    """Passed, or failed as expected."""
    failed: int
    """Failed, crashed, took too long, or passed although expected to fail."""
    skipped: int
    """Without a result: skipped, unsupported, or never reported."""

    @classmethod
    def of(cls, counts: Counts) -> TestResults:
        """Every test that was collected is in one of the three."""
        return cls(
            passed=counts.passed + counts.xfailed,
            failed=counts.failures + counts.xpassed,
            skipped=counts.skipped + counts.unsupported + counts.not_run,
        )


class NightlyEvent(Record):
    """Takes the place of the event in a report of a nightly."""

    repository: RepositoryName
    """The device of the nightly."""
    head_sha: Commit
    """The commit of PyTorch that was tested."""


class ReportedWorkflow(Record):
    """What is reported of one device's run."""

    schema_version: Literal["1"] = "1"
    """Version of these words."""
    status: Status
    """How far it has come."""
    conclusion: Conclusion | None = None
    """Its conclusion; null while it runs."""
    name: Line
    """Name of the workflow."""
    url: Address
    """Page of the workflow's run, with the summary of predicted breaks: a report has no field for text."""
    job_name: Line
    """The key of a run within its workflow: the device."""
    check_run_id: Line
    """Identity of the check: the same while a run is in progress and when it is completed."""
    run_id: Number
    """Number of the workflow's run."""
    run_attempt: Number
    """Which attempt of it this is."""
    started_at: Time | None = None
    """When it began."""
    completed_at: Time | None = None
    """When it ended; null as long as it runs."""
    test_results: TestResults | None = None
    """Its tests; null where nothing was reported."""
    artifact_url: Address | None = None
    """Where its reports and logs are."""


class RelayReport(Record):
    """The body of a report."""

    event_type: Literal["pull_request", "push", "nightly"]
    """What was tested."""
    delivery_id: DeliveryId
    """The delivery that it answers; of a nightly, the commit of PyTorch."""
    payload: PullRequestEvent | PushEvent | NightlyEvent
    """The event as far as it was delivered and understood."""
    workflow: ReportedWorkflow
    """What is reported."""


def concluded(verdict: VerdictName) -> Conclusion:
    """The conclusion from a verdict about the commit that was tested."""
    if verdict in AS_EXPECTED:
        return Conclusion.SUCCESS
    return Conclusion.FAILURE if verdict in BROKEN else Conclusion.NEUTRAL


def concluded_of_change(effect: Effect) -> Conclusion:
    """The conclusion from a device's run about a pull request or a push.

    Without a nightly to compare it with, the run alone decides.
    """
    if effect.effect is EffectName.NO_DATA:
        return concluded(effect.verdict) if effect.run_id is not None else Conclusion.NEUTRAL
    if effect.effect is EffectName.NEWLY_BROKEN:
        return Conclusion.FAILURE
    return Conclusion.SUCCESS if effect.effect is EffectName.NOT_WORSE else Conclusion.NEUTRAL
