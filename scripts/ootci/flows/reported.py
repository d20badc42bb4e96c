"""The runs that lie in the work folder, for commands that ask what became of a plan."""

from __future__ import annotations

from collections.abc import Callable

from ootci.errors import OotciError
from ootci.flows.context import attempt_number
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.workspace import Workspace


def reported_runs(workspace: Workspace, plan: Plan, say: Callable[[str], None]) -> dict[str, Run]:
    """What was reported of a plan's devices, by device: of each its last attempt.

    A run lies in the folder of its device, or in one of the name that its artifact has. It comes from a job that ran
    vendor code: a bad one is as good as none, which is said, and keeps no other out; what lies in the folder of another
    device is not read.
    """
    runs: dict[str, Run] = {}
    for planned in plan.runs:
        attempts = [f"run-{planned.device}-{number}" for number in range(attempt_number(), 0, -1)]
        for name in (planned.device, *attempts):
            path = workspace.run(name).run
            if not path.exists():
                continue
            try:
                run = read(Run, path)
            except OotciError as error:
                say(f"{planned.device}: {error.what}")
                continue
            if (run.id, run.device) == (planned.run_id, planned.device):
                runs[planned.device] = run
                break
    return runs
