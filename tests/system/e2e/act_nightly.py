"""A nightly as GitHub runs it: what its jobs start is run by act, and what a run leaves is where the next ones look."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from e2e.act_runner import ActRun, Repository, run_workflow
from fake_actions import FakeActions, FakeRun
from fake_github import TOKEN

WATCH = {"schedule": "40 16,22 * * *"}
"""What the event says when the page is made again, whatever was received."""


@dataclass(frozen=True)
class ActNightly:
    """A repository, GitHub's API, and the artifacts of each run.

    Attributes:
        folder: holds a folder for each run.
        environment: further variables, which every step sees.

    """

    repository: Repository
    folder: Path
    hub: FakeActions
    environment: Mapping[str, str]

    def plan(
        self, run_id: int, event: str, *, inputs: Mapping[str, str] | None = None, age: timedelta = timedelta(0)
    ) -> ActRun:
        """Run the nightly's own workflow; ``age`` is how long ago it then seems to have been."""
        ran = self.run(f"nightly-{run_id}", workflow="nightly.yml", event=event, inputs=inputs, run_id=run_id)
        artifacts = ran.store / "artifacts"
        file = artifacts / "plan-1" / "plan.json"
        if file.exists():
            plan = json.loads(file.read_text(encoding="utf-8"))
            plan["created_at"] = (datetime.now(timezone.utc) - age).isoformat()
            file.write_text(json.dumps(plan), encoding="utf-8")
        for started in self.hub.runs.values():
            if started.inputs.get("plan-run") == str(run_id):
                started.created_at = started.started_at = started.created_at - age
        self._left(self.hub.add_run("nightly.yml", number=run_id, event=event), artifacts)
        return ran

    def test(self, device: str, attempt: int = 1) -> ActRun:
        """Run the device's own workflow, as it was started."""
        started = self.hub.started(device)
        ran = self.run(
            f"{device}-{started.number}",
            workflow="device-run.yml",
            event="workflow_dispatch",
            inputs=started.inputs,
            run_id=started.number,
            attempt=attempt,
        )
        started.attempt = attempt
        self._left(started, ran.store / "artifacts")
        return ran

    def publish(
        self,
        name: str,
        event: str = "workflow_run",
        payload: Mapping[str, object] | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> ActRun:
        """Run the workflow that takes in and publishes."""
        workflow = {"workflow": "publish.yml", "event": event, "payload": payload, "run_id": 900}
        return self.run(f"publish-{name}", variables=variables, **workflow)

    def run(self, name: str, **options: Any) -> ActRun:
        """Run a workflow in a folder of that name."""
        environment = {**self.environment, "STUB_RUNS": str(self.folder / "runs")}
        ran = run_workflow(self.repository, self.folder / name, environment=environment, token=TOKEN, **options)
        assert TOKEN not in json.dumps(ran.events)
        return ran

    def _left(self, run: FakeRun, artifacts: Path) -> None:
        run.end()
        if artifacts.exists():
            self.hub.upload_folder(run, artifacts)
            shutil.copytree(artifacts, self.folder / "runs" / str(run.number))
