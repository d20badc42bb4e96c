"""Workflow runs of a repository on GitHub: started, looked at, cancelled.

Source: GitHub's documentation, "REST API endpoints for workflows", "... for workflow runs", "... for workflow jobs".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from urllib.parse import quote

from ootci.adapters.github_rest import GithubRest


@dataclass(frozen=True)
class WorkflowRun:
    """A workflow run.

    Attributes:
        number: GitHub's number of it.
        title: what its workflow's ``run-name`` makes of it.
        attempt: the newest attempt.
        is_over: whether that one has ended, however.
        created_at: when the first attempt was requested.
        started_at: when the newest attempt was.

    """

    number: int
    title: str
    attempt: int
    is_over: bool
    created_at: datetime
    started_at: datetime


@dataclass(frozen=True)
class Job:
    """A job of a run's newest attempt.

    Attributes:
        name: its name; in called workflows it follows the names of the jobs that call it, with " / " between.
        is_running: whether a runner works on it.
        never_began: whether no runner took it: it still waits for one, or was cancelled while it did.
        created_at: since when it could begin.

    """

    name: str
    is_running: bool
    never_began: bool
    created_at: datetime


class GithubRuns:
    """The workflow runs of one branch of a repository.

    Args:
        repository: ``owner/name``.
        branch: the branch whose workflow files are run.

    Raises:
        GithubUnreachable, GithubRefused: from every method, see the client.

    """

    def __init__(self, rest: GithubRest, repository: str, branch: str) -> None:
        self.rest = rest
        self.repository = repository
        self._path = f"/repos/{quote(repository)}/actions"
        self._branch = branch

    def of(self, workflow: str, since: datetime) -> Iterator[WorkflowRun]:
        """The runs of a workflow, of a file's name, that were created since a time."""
        asked = {"branch": self._branch, "created": f">={since.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"}
        path = f"{self._path}/workflows/{quote(workflow)}/runs"
        for item in self.rest.pages(path, asked, within="workflow_runs", may_miss=True):
            found = _run(item, self.repository)
            if found is not None:
                yield found

    def jobs(self, number: int) -> list[Job]:
        """The jobs of a run's newest attempt; those of a matrix that was not reached are not among them."""
        found = self.rest.pages(f"{self._path}/runs/{number}/jobs", {}, within="jobs", may_miss=True)
        return [job for job in map(_job, found) if job is not None]

    def start(self, workflow: str, inputs: Mapping[str, str]) -> None:
        """Run a workflow that has the trigger ``workflow_dispatch``; the token of a workflow may do that.

        A lost answer may start it twice.
        """
        body = {"ref": self._branch, "inputs": dict(inputs)}
        self.rest.change("POST", f"{self._path}/workflows/{quote(workflow)}/dispatches", body)

    def cancel(self, run: WorkflowRun) -> None:
        """Cancel a run; GitHub does so a little later, and refuses where it has ended."""
        self.rest.change("POST", f"{self._path}/runs/{run.number}/cancel", {})


def _run(item: object, repository: str) -> WorkflowRun | None:
    """A run that somebody who may write to the repository started, or its schedule; None for any other."""
    if not isinstance(item, dict) or item.get("event") not in ("schedule", "workflow_dispatch", "repository_dispatch"):
        return None
    head = item.get("head_repository")
    number, title, attempt = item.get("id"), item.get("display_title"), item.get("run_attempt")
    created, started = _time(item.get("created_at")), _time(item.get("run_started_at"))
    if not isinstance(head, dict) or str(head.get("full_name")).lower() != repository.lower():
        return None
    if not (isinstance(number, int) and isinstance(title, str) and isinstance(attempt, int) and created):
        return None
    return WorkflowRun(number, title, attempt, item.get("status") == "completed", created, started or created)


def _job(item: object) -> Job | None:
    created = _time(item.get("created_at")) if isinstance(item, dict) else None
    if not isinstance(item, dict) or created is None:
        return None
    status, is_taken = item.get("status"), bool(item.get("runner_id"))
    waits = status not in ("completed", "in_progress") or item.get("conclusion") == "cancelled"
    return Job(str(item.get("name")), status == "in_progress", waits and not is_taken, created)


def _time(text: object) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
