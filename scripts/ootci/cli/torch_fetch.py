"""``ootci torch fetch``."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.progress import Progress
from ootci.cli.options import folder_options, format_option, github_output_option
from ootci.cli.show import append, note, one_line, show
from ootci.errors import BadOption, TorchNotBuilt
from ootci.flows.context import Folders, clock
from ootci.flows.planning import enter_torch
from ootci.model.device import find_device
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.setting import labels_of
from ootci.stages.torch_from_ci import Taker


@click.command("fetch")
@click.option(
    "--minutes",
    type=click.IntRange(0, 1440),
    default=150,
    show_default=True,
    help="How long after the plan a build is waited for; less where the relay would not wait for the devices.",
)
@click.option("--runner", metavar="JSON", help="Labels of the runner that builds it then, as a list: exit 0, too.")
@github_output_option("Append `found`, yes or no, and the wheel's `python` to this file.")
@format_option
@folder_options("devices", "work")
def torch_fetch(
    minutes: int,
    runner: str | None,
    github_output: Path | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Take the wheel that PyTorch's CI built of the pull request or push of plan.json, and add it to the plan.

    Waits for a build that has not ended. Writes the wheel and torch.json to torch/ in the work folder.
    """
    if runner and labels_of(runner) is None:
        raise BadOption(
            "it is no JSON list of labels",
            where="--runner (variable OOTCI_TORCH_RUNNER, on the page Settings > Secrets and variables > Actions)",
            fix='write it as ["self-hosted", "large"]',
        )
    plan = read(Plan, folders.workspace.plan)
    if plan.trigger.proposal is None:
        raise BadOption(
            "the plan is for no pull request and no push",
            where="ootci torch fetch",
            fix="plan with `ootci plan --pull-request`",
        )
    registry = folders.registry()
    taker = Taker(
        plan.trigger.proposal,
        tuple(find_device(registry, run.device).device for run in plan.runs),
        folders.workspace,
        GithubRest(os.environ.get("GITHUB_TOKEN") or None),
        until=min(filter(None, (plan.created_at + timedelta(minutes=minutes), plan.torch_deadline))),
        clock=clock,
        wait=time.sleep,
        progress=Progress(),
    )
    try:
        with locked(folders.work):
            taken, unfit = taker.take()
    except TorchNotBuilt as error:
        enter_torch(plan, folders, None, error.what)
        append("found=no\n", github_output)
        if not runner:
            raise
        note(one_line(error.what))
        return
    wheel = folders.workspace.torch_wheels / taken.wheel
    enter_torch(plan, folders, wheel, None, unfit)
    append(f"found=yes\npython={taken.python_version}\n", github_output)
    facts = {"path": str(wheel), **taken.model_dump(mode="json")}
    show(facts, output_format, one_line(f"{wheel}: torch {taken.version}, {taken.origin}"))
