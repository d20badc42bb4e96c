"""relay: the reports of one device's run to PyTorch's cross-repository CI relay.

Making one raises pydantic.ValidationError where the origin is not as the relay wants it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ootci.model.delivery import Delivery, PushDelivery, RepositoryName
from ootci.model.relay import (
    Conclusion,
    NightlyEvent,
    RelayReport,
    ReportedWorkflow,
    Status,
    TestResults,
)
from ootci.model.run import Run

PYTORCH = RepositoryName(full_name="pytorch/pytorch")


@dataclass(frozen=True)
class Origin:
    """The workflow run that a report comes from.

    Attributes:
        check_run_id: identity of the check; made of number and attempt where None, so that the jobs that begin and
            complete a report name the same one.
        artifact_url: where reports and logs are.

    """

    name: str
    url: str
    run_id: str
    attempt: int
    check_run_id: str | None = None
    artifact_url: str | None = None


def in_progress(delivery: Delivery, device: str, origin: Origin, now: datetime) -> RelayReport:
    """A device's run has begun."""
    return _report(delivery, _workflow(device, origin, Status.IN_PROGRESS, started_at=now))


def completed(
    delivery: Delivery, device: str, origin: Origin, now: datetime, run: Run | None, conclusion: Conclusion
) -> RelayReport:
    """A device's run is over, and what it means is known."""
    return _report(delivery, _ended(device, origin, now, run, conclusion))


def nightly(
    commit: str, device: str, origin: Origin, now: datetime, run: Run | None, conclusion: Conclusion
) -> RelayReport:
    """A device's nightly, which no delivery asked for."""
    return RelayReport(
        event_type="nightly",
        delivery_id=commit,
        payload=NightlyEvent(repository=PYTORCH, head_sha=commit),
        workflow=_ended(device, origin, now, run, conclusion),
    )


def _report(delivery: Delivery, workflow: ReportedWorkflow) -> RelayReport:
    event = "push" if isinstance(delivery, PushDelivery) else "pull_request"
    return RelayReport.model_validate(
        {
            "event_type": event,
            "delivery_id": delivery.delivery_id,
            "payload": delivery.payload,
            "workflow": workflow,
        }
    )


def _ended(device: str, origin: Origin, now: datetime, run: Run | None, conclusion: Conclusion) -> ReportedWorkflow:
    if run is not None and not run.is_report:
        # Such a run has no tests, and its times are the plan's.
        run = None
    return _workflow(
        device,
        origin,
        Status.COMPLETED,
        conclusion=conclusion,
        started_at=run.started_at if run else None,
        completed_at=run.finished_at if run else now,
        test_results=TestResults.of(run.counts) if run else None,
    )


def _workflow(
    device: str,
    origin: Origin,
    status: Status,
    *,
    started_at: datetime | None,
    completed_at: datetime | None = None,
    conclusion: Conclusion | None = None,
    test_results: TestResults | None = None,
) -> ReportedWorkflow:
    return ReportedWorkflow(
        status=status,
        conclusion=conclusion,
        name=origin.name,
        url=origin.url,
        job_name=device,
        check_run_id=origin.check_run_id or f"{origin.run_id}-{origin.attempt}",
        run_id=origin.run_id,
        run_attempt=str(origin.attempt),
        started_at=started_at,
        completed_at=completed_at,
        test_results=test_results,
        artifact_url=origin.artifact_url,
    )
