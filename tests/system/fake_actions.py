"""GitHub's API of workflow runs, their jobs and artifacts, as a server on this machine, as strict as GitHub.

Source: GitHub's documentation, "REST API endpoints for workflows", "... for workflow runs", "... for workflow jobs" and
"... for GitHub Actions artifacts".
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml
from fake_github import REPOSITORY, TOKEN, FakeGithub, Handler
from loopback import running

TOP = f"/repos/{REPOSITORY}"
WORKFLOWS = Path(__file__).parents[2] / ".github" / "workflows"
SHA = "5" * 40
MAX_INPUTS = 65_535


@dataclass
class FakeJob:
    """A job of a run's newest attempt, which waits for a runner at first.

    Attributes:
        runner: the runner's number; None where none took it.

    """

    created_at: datetime
    status: str = "queued"
    conclusion: str | None = None
    runner: int | None = None
    name: str = "device / device"


@dataclass
class FakeRun:
    """A workflow run.

    Attributes:
        number: GitHub's number of it.
        workflow: its workflow's file.
        inputs: what it was started with.
        artifacts: content by name, and whether it has expired.

    """

    number: int
    workflow: str
    title: str
    created_at: datetime
    started_at: datetime
    event: str = "workflow_dispatch"
    branch: str = "main"
    repository: str = REPOSITORY
    sha: str = SHA
    status: str = "queued"
    conclusion: str | None = None
    attempt: int = 1
    inputs: dict[str, str] = field(default_factory=dict)
    jobs: list[FakeJob] = field(default_factory=list)
    artifacts: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    expired: set[str] = field(default_factory=set)

    def end(self, conclusion: str = "success") -> None:
        """End it and its jobs."""
        self.status, self.conclusion = "completed", conclusion
        for job in self.jobs:
            if job.status != "completed":
                job.status, job.conclusion = "completed", conclusion


class FakeActions(FakeGithub):
    """The server.

    Attributes:
        runs: every run by its number.
        leaked: whether the token was shown to the store that artifacts are downloaded from.
        now: the time.

    """

    def __init__(self, handler: type[ActionsHandler] | None = None) -> None:
        super().__init__(handler or ActionsHandler)
        self.runs: dict[int, FakeRun] = {}
        self.leaked = False
        self.now: Callable[[], datetime] = lambda: datetime.now(timezone.utc)
        self._stored: dict[int, bytes] = {}

    def add_run(self, workflow: str, title: str = "", number: int = 0, **more: Any) -> FakeRun:
        """Make a run that waits for its runner."""
        now = more.pop("created_at", None) or self.now()
        number = number or max(self.runs, default=1000) + 1
        self.runs[number] = FakeRun(number, workflow, title or workflow, now, now, jobs=[FakeJob(now)], **more)
        return self.runs[number]

    def started(self, device: str) -> FakeRun:
        """The newest run of a device."""
        return [run for run in self.runs.values() if run.inputs.get("device") == device][-1]

    def upload(self, run: int, name: str, sha: str, files: Mapping[str, bytes]) -> None:
        """Make an artifact of a workflow run."""
        made = self.runs.get(run) or self.add_run("device-file.yml", number=run, event="pull_request")
        made.sha = sha
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, text in files.items():
                archive.writestr(path, text)
        self.store(made, name, content.getvalue())

    def store(self, run: FakeRun, name: str, archive: bytes) -> None:
        """Keep an archive as an artifact of a run."""
        number = len(self._stored) + 1
        self._stored[number] = archive
        run.artifacts[name] = number, archive

    def upload_folder(self, run: FakeRun, folder: Path) -> None:
        """Make an artifact of each folder in the one that plays the artifact store."""
        for artifact in sorted(folder.glob("*")):
            files = {
                str(path.relative_to(artifact)): path.read_bytes() for path in artifact.rglob("*") if path.is_file()
            }
            self.upload(run.number, artifact.name, run.sha, files)


class ActionsHandler(Handler):
    """Answers as GitHub does."""

    server: FakeActions

    def list(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        words = parts.path.removeprefix(f"{TOP}/").split("/")
        if parts.path.startswith("/store/"):
            self.server.leaked |= "Authorization" in self.headers
            self.answer(200, self.server._stored[int(words[-1])])
        elif words[:2] == ["actions", "workflows"] and words[3:] == ["runs"]:
            self._runs(words[2], query)
        elif words[:2] == ["actions", "runs"] and words[3:] in (["jobs"], ["artifacts"]):
            run = self.server.runs.get(int(words[2]))
            if run is None:
                self.say(404, {"message": "Not Found"})
            elif words[3] == "jobs":
                self.paged([_shown_job(job) for job in run.jobs], "jobs")
            else:
                named = [_shown_artifact(run, name) for name in run.artifacts if query.get("name", name) == name]
                self.paged(named, "artifacts")
        elif words[:2] == ["actions", "artifacts"] and words[3:] == ["zip"]:
            self._archive(int(words[2]))
        else:
            super().list()

    def _runs(self, workflow: str, query: Mapping[str, str]) -> None:
        if not (WORKFLOWS / workflow).is_file():
            self.say(404, {"message": "Not Found"})
            return
        since = datetime.fromisoformat(query["created"].removeprefix(">=").replace("Z", "+00:00"))
        found = [
            _shown_run(run)
            for run in sorted(self.server.runs.values(), key=lambda run: run.created_at, reverse=True)
            if (run.workflow, run.branch) == (workflow, query.get("branch", run.branch)) and run.created_at >= since
        ]
        self.paged(found, "workflow_runs")

    def _archive(self, number: int) -> None:
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.say(401, {"message": "Requires authentication"})
            return
        for run in self.server.runs.values():
            for name, (stored, _) in run.artifacts.items():
                if stored == number:
                    gone = name in run.expired
                    where = {"Location": f"{self.server.url}/store/{number}"}
                    self.say(*((410, {"message": "Artifact has expired"}) if gone else (302, {}, where)))
                    return
        self.say(404, {"message": "Not Found"})

    def post(self) -> None:
        words = self.path.removeprefix(f"{TOP}/").split("/")
        if words[:2] == ["actions", "workflows"] and words[3:] == ["dispatches"]:
            self._dispatch(words[2])
        elif words[:2] == ["actions", "runs"] and words[3:] == ["cancel"]:
            run = self.server.runs.get(int(words[2]))
            if run is None:
                self.say(404, {"message": "Not Found"})
            elif run.status == "completed":
                self.say(409, {"message": "Cannot cancel a workflow run that is completed."})
            else:
                run.end("cancelled")
                self.say(202, {})
        else:
            super().post()

    def _dispatch(self, workflow: str) -> None:
        file = WORKFLOWS / workflow
        if not file.is_file():
            self.say(404, {"message": "Not Found"})
            return
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
        triggers, given = content[True], self.given.get("inputs", {})
        declared = (triggers.get("workflow_dispatch") or {}).get("inputs", {})
        missing = [name for name, item in declared.items() if item.get("required") and not given.get(name)]
        refused = ""
        if "workflow_dispatch" not in triggers:
            refused = "Workflow does not have 'workflow_dispatch' trigger"
        elif self.given.get("ref") != self.server.facts["default_branch"]:
            refused = f"No ref found for: {self.given.get('ref')}"
        elif unexpected := given.keys() - declared.keys():
            refused = f"Unexpected inputs provided: {sorted(unexpected)}"
        elif missing:
            refused = f"Required input '{missing[0]}' not provided"
        elif not all(isinstance(value, str) for value in given.values()):
            refused = "For 'properties/inputs', an input is not a string."
        elif sum(map(len, given.values())) > MAX_INPUTS:
            refused = "inputs are too large"
        if refused:
            self.say(422, {"message": refused})
            return
        title = re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: given[found[1]], content["run-name"])
        self.server.add_run(workflow, title, branch=self.given["ref"], inputs=dict(given))
        self.send(204, "", {})


def _shown_run(run: FakeRun) -> dict[str, object]:
    return {
        "id": run.number,
        "name": run.workflow.removesuffix(".yml"),
        "display_title": run.title,
        "path": f".github/workflows/{run.workflow}",
        "event": run.event,
        "status": run.status,
        "conclusion": run.conclusion,
        "head_branch": run.branch,
        "head_sha": run.sha,
        "head_repository": {"full_name": run.repository},
        "run_attempt": run.attempt,
        "created_at": _text(run.created_at),
        "run_started_at": _text(run.started_at),
    }


def _shown_job(job: FakeJob) -> dict[str, object]:
    return {
        "name": job.name,
        "status": job.status,
        "conclusion": job.conclusion,
        "runner_id": job.runner,
        "created_at": _text(job.created_at),
    }


def _shown_artifact(run: FakeRun, name: str) -> dict[str, object]:
    number, archive = run.artifacts[name]
    return {
        "id": number,
        "name": name,
        "size_in_bytes": len(archive),
        "expired": name in run.expired,
        "workflow_run": {"id": run.number, "head_sha": run.sha},
    }


def _text(time: datetime) -> str:
    return f"{time.astimezone(timezone.utc):%Y-%m-%dT%H:%M:%SZ}"


@contextmanager
def fake_actions() -> Iterator[FakeActions]:
    """Run the server on a free port."""
    with running(FakeActions()) as server:
        yield server
