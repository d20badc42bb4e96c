"""``ootci torch build`` and ``ootci torch fetch``: the wheel of torch that all devices of a run test."""

from __future__ import annotations

import os
import re
import time
from datetime import timedelta
from pathlib import Path

import click

from ootci.adapters import git
from ootci.adapters.folder_lock import locked
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.terminal import Progress
from ootci.cli.options import folder_options, format_option, github_output_option
from ootci.cli.show import append, note, one_line, show
from ootci.errors import BadOption, TorchNotBuilt
from ootci.flows.context import Folders, clock
from ootci.flows.planning import enter_torch
from ootci.model.device import find_device
from ootci.model.plan import Plan, Proposal
from ootci.model.record import read
from ootci.model.relay import RELAY_MINUTES
from ootci.model.setting import labels_of
from ootci.model.torch_build import NONE_THERE, TorchSource
from ootci.stages.torch_from_ci import Taker
from ootci.stages.torch_source import Wanted, build_torch

FEWEST_SECONDS = 600.0
"""With fewer left a build is not begun: with a warm compiler cache it takes longer."""


@click.command("build")
@click.option("--ref", metavar="REF", help="Build this branch, tag or commit.")
@click.option("--pull-request", "number", metavar="N", help="Build this pull request, merged into its base.")
@click.option(
    "--planned", is_flag=True, help="Build the pull request or push of plan.json, and add the wheel to the plan."
)
@click.option("--remote", metavar="URL", help="Repository. Default: OOTCI_PYTORCH_GIT, or PyTorch's own.")
@click.option("--minutes", type=click.IntRange(1, 1440), default=330, show_default=True, help="Time-out of the build.")
@format_option
@folder_options("work")
def torch_build(
    ref: str | None,
    number: str | None,
    planned: bool,
    remote: str | None,
    minutes: int,
    output_format: str,
    folders: Folders,
) -> None:
    """Build a wheel of torch for all devices.

    Writes the wheel and torch.json to torch/ in the work folder. Pass its path to `ootci plan --torch`.
    """
    plan = read(Plan, folders.workspace.plan) if planned else None
    wanted = _wanted(ref, number, plan, remote or git.pytorch_repository())
    try:
        seconds = _seconds_for(minutes, plan)
        with locked(folders.work):
            built = build_torch(wanted, folders.workspace, seconds=seconds, clock=clock, progress=Progress())
    except TorchNotBuilt as error:
        if plan is not None:
            enter_torch(plan, folders, None, error.what.splitlines()[0])
        raise
    if plan is not None:
        enter_torch(plan, folders, folders.workspace.torch_wheels / built.wheel, None)
    _show(built, str(built), folders, output_format)


def _show(built: TorchSource, origin: str | None, folders: Folders, output_format: str) -> None:
    wheel = folders.workspace.torch_wheels / built.wheel
    facts = {"path": str(wheel), **built.model_dump(mode="json")}
    show(facts, output_format, one_line(f"{wheel}: torch {built.version}, {origin}"))


def _seconds_for(minutes: int, plan: Plan | None) -> float:
    """The time for a build, less where the relay would not wait for the devices' reports."""
    deadline = plan.torch_deadline if plan is not None else None
    left = (deadline - clock()).total_seconds() if deadline is not None else minutes * 60
    if left < FEWEST_SECONDS:
        raise TorchNotBuilt(
            f"there is no time left to build torch: PyTorch's relay takes no result after {RELAY_MINUTES // 60} hours",
            where="limits.job_minutes of the devices",
            fix="give the devices fewer minutes, or run all jobs again for a new plan",
        )
    return min(minutes * 60, left)


def _wanted(ref: str | None, number: str | None, plan: Plan | None, remote: str) -> Wanted:
    if sum(given is not None for given in (ref, number, plan)) != 1:
        raise BadOption(
            "it is not clear what to build",
            where="ootci torch build",
            fix="give one of --ref, --pull-request and --planned",
        )
    if remote.startswith("-") or (ref is not None and not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._/+-]{0,250}", ref)):
        raise BadOption(
            "that is no ref of a repository", where=f"{ref} of {remote}", fix="give a branch, tag or commit"
        )
    if number is not None:
        if not re.fullmatch(r"[1-9]\d{0,8}", number):
            raise BadOption(f"`{number}` is no pull request", where="--pull-request", fix="give a number such as 4711")
        return Wanted(remote, f"refs/pull/{number}/merge", int(number))
    if plan is None:
        return Wanted(remote, ref or "")
    what = _proposal(plan, "--planned", ", or give --ref")
    ref = what.ref if what.pull_request else what.commit
    # `ootci torch fetch` left its reason there.
    reasons = {run.torch.unavailable_reason for run in plan.runs} - {None}
    looked = next((reason for reason in reasons if reason and reason.startswith(NONE_THERE)), None)
    return Wanted(remote, ref, what.pull_request, what.commit, looked)


def _proposal(plan: Plan, where: str, else_: str = "") -> Proposal:
    """What of PyTorch the plan is for.

    Raises:
        BadOption: it is for a nightly.

    """
    if plan.trigger.proposal is None:
        fix = f"plan with `ootci plan --pull-request`{else_}"
        raise BadOption("the plan is for no pull request and no push", where=where, fix=fix)
    return plan.trigger.proposal


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
    proposal, registry = _proposal(plan, "ootci torch fetch"), folders.registry()
    taker = Taker(
        proposal,
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
    enter_torch(plan, folders, folders.workspace.torch_wheels / taken.wheel, None, unfit)
    append(f"found=yes\npython={taken.python_version}\n", github_output)
    _show(taken, taken.origin, folders, output_format)
