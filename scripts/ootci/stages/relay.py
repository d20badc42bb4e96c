"""relay: the reports of one device's run to PyTorch's cross-repository CI relay.

Making one raises pydantic.ValidationError where the origin is not as the relay wants it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ootci.model.delivery import Delivery, RepositoryName
from ootci.model.relay import Conclusion, NightlyEvent, RelayReport, ReportedWorkflow, Status, TestResults
from ootci.model.run import Run

PYTORCH = RepositoryName(full_name="pytorch/pytorch")


@dataclass(frozen=True)
class Origin:
    """The workflow run that a report comes from, in the words of the report.

    Attributes:
        check_run_id: identity of the check: the jobs that begin and complete a report name the same one.
        artifact_url: where reports and logs are.

    """

    name: str
    url: str
    run_id: str
    run_attempt: str
    check_run_id: str
    artifact_url: str | None = None

    def begun(self, device: str, now: datetime) -> ReportedWorkflow:
        """A device's run has begun."""
        return ReportedWorkflow(job_name=device, status=Status.IN_PROGRESS, started_at=now, **vars(self))

    def ended(
        self, device: str, now: datetime, run: Run | None, conclusion: Conclusion, *, planned_at: datetime
    ) -> ReportedWorkflow:
        """A device's run is over, and what it means is known; without a run it began when it was planned.

        A report without that time is not shown: PyTorch's dashboard has it begin in 1970.
        """
        if run is not None and not run.is_report:
            # Such a run has no tests, and its times are the plan's.
            run = None
        return ReportedWorkflow(
            job_name=device,
            status=Status.COMPLETED,
            conclusion=conclusion,
            started_at=run.started_at if run else planned_at,
            completed_at=run.finished_at if run else now,
            test_results=TestResults.of(run.counts) if run else None,
            **vars(self),
        )


def report_of(delivery: Delivery, workflow: ReportedWorkflow) -> RelayReport:
    """The report that answers a delivery."""
    return RelayReport(
        event_type=delivery.event_type, delivery_id=delivery.delivery_id, payload=delivery.payload, workflow=workflow
    )


def report_of_nightly(commit: str, workflow: ReportedWorkflow) -> RelayReport:
    """The report of a nightly, without a delivery, on a commit of PyTorch."""
    payload = NightlyEvent(repository=PYTORCH, head_sha=commit)
    return RelayReport(event_type="nightly", delivery_id=commit, payload=payload, workflow=workflow)
