"""Starts a workflow run for each planned device, so that an offline runner does not delay the others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from ootci.adapters.annotation import show_warning
from ootci.adapters.github_runs import GithubRuns
from ootci.errors import OotciError
from ootci.flows.context import CLOCKS
from ootci.model.plan import Plan

DEVICE_RUN = "device-run.yml"


def title_of(plan_id: str, device: str) -> str:
    """The title of a device's workflow run, by which it is found again: the ``run-name`` of ``device-run.yml``."""
    return f"{plan_id} {device}"


def start(
    runs: GithubRuns,
    plan: Plan,
    jobs: Sequence[Mapping[str, object]],
    *,
    run_id: str,
    artifact: str,
    say: Callable[[str], None],
) -> list[str]:
    """Start the run of each device that has none yet, and return those; what fails for one keeps no other out.

    Args:
        jobs: the entries of the matrix that ``ootci plan`` wrote.
        run_id: number of the workflow run that has the plan.
        artifact: name of the artifact with the plan.

    Raises:
        GithubUnreachable, GithubRefused: a run could not be started.

    """
    there = {run.title for run in runs.of(DEVICE_RUN, plan.created_at - CLOCKS)}
    started: list[str] = []
    failed: OotciError | None = None
    for job in jobs:
        device = str(job["device"])
        if title_of(plan.id, device) in there:
            say(f"{device}: its run was started before")
            continue
        inputs = {"nightly": plan.id, "device": device, "plan-run": run_id, "plan-artifact": artifact}
        try:
            runs.start(DEVICE_RUN, {**inputs, "job": json.dumps(job)})
        except OotciError as error:
            show_warning(f"the run of {device} is not started", error)
            failed = failed or error
        else:
            started.append(device)
    if failed is not None:
        raise failed
    return started
