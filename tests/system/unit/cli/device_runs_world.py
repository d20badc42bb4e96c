"""Nightlies of a repository on a stand-in for GitHub, for ``ootci dispatch`` and ``ootci receive``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from fake_actions import FakeActions, FakeRun
from fake_github import REPOSITORY, TOKEN
from unit.samples import night, plan, run

from ootci.flows.receive import DEADLINE
from ootci.history.store import History
from ootci.model.device import load_registry
from ootci.model.plan import SCHEDULE, Plan, Trigger
from ootci.model.run import Run
from ootci.stages.judge import judge

from commands import Ran, Tool  # isort: skip

NAMES = ("dev", "two")
LATE = DEADLINE + timedelta(minutes=5)
"""When a nightly is received without those of its runs that are not over."""


class World:
    """A repository on GitHub, and its history on this machine.

    Attributes:
        now: the time.

    """

    def __init__(self, hub: FakeActions, ootci: Tool, folder: Path) -> None:
        self.hub, self.folder = hub, folder
        self._ootci = ootci
        self.now = night(0)

    def plan(
        self,
        number: int,
        names: Sequence[str] = NAMES,
        also: Sequence[str] = (),
        paused: Mapping[str, str] | None = None,
    ) -> Plan:
        """The plan of a nightly that the schedule started; ``also`` are its runs on other torches."""
        url = f"https://github.com/{REPOSITORY}/actions/runs/{100 + number}"
        runs = {"runs": plan(number, names).runs, "also": plan(number, also).runs}
        return plan(number, paused=paused).model_copy(update={"trigger": Trigger(event=SCHEDULE, url=url), **runs})

    def nightly(
        self,
        number: int,
        names: Sequence[str] = NAMES,
        *,
        ended: bool = True,
        also: Sequence[str] = (),
        paused: Mapping[str, str] | None = None,
    ) -> FakeRun:
        """The nightly's own run, which has planned and started the devices' runs."""
        self.now = night(number)
        made = self.hub.add_run("nightly.yml", number=100 + number, event="schedule")
        planned = self.plan(number, names, also, paused)
        self.hub.upload(made.number, "plan-1", made.sha, {"plan.json": planned.to_json().encode()})
        (self.folder / ".ootci").mkdir(exist_ok=True)
        (self.folder / ".ootci" / "plan.json").write_text(planned.to_json(), encoding="utf-8")
        compiled = [{"device": name, "compile": True} for name in paused or {}]
        jobs = json.dumps({"include": [*({"device": name} for name in (*names, *also)), *compiled]})
        ran = self.call("dispatch", "--jobs", jobs, "--plan-artifact", "plan-1", "--run-id", str(made.number))
        assert ran.code == 0, ran.err
        if ended:
            made.end()
        return made

    def report(self, number: int, name: str, attempt: int = 1, made: Run | None = None) -> None:
        """A device's run ends and leaves its report."""
        device_run = self.hub.started(name)
        made = made or run(number, name, attempt=attempt)
        files = {"run.json": made.to_json().encode(), "logs/build.log": b"built"}
        self.hub.upload(device_run.number, f"run-{name}-{attempt}", device_run.sha, files)
        for job in device_run.jobs:
            job.runner = 7
        device_run.end()

    def receive(self, *more: str, **variables: str) -> tuple[Ran, dict[str, str]]:
        """Run the command; what it wrote for the workflow."""
        output = self.folder / "output"
        output.unlink(missing_ok=True)
        ran = self.call("receive", "--github-output", str(output), *more, **variables)
        text = output.read_text(encoding="utf-8") if output.exists() else ""
        return ran, dict(line.split("=", 1) for line in text.splitlines())

    def received(self, *more: str, **variables: str) -> dict[str, str]:
        ran, found = self.receive(*more, **variables)
        assert ran.code == 0, ran.err
        return found

    def call(self, *arguments: str, **variables: str) -> Ran:
        ran: Ran = self._ootci(*arguments, cwd=self.folder, env={**self.hub.job, **variables})
        assert TOKEN not in ran.out + ran.err
        assert not self.hub.leaked
        return ran

    @property
    def history(self) -> History:
        return History(self.folder / "data")

    def verdicts(self) -> dict[str, str]:
        """Verdict and reason of each device."""
        found = judge(load_registry(self.folder / "devices"), self.history, self.now)
        return {item.device: f"{item.verdict.value}: {item.reason}" for item in found.devices}
