"""``ootci torch build``."""

from __future__ import annotations

import re

import click

from ootci.adapters import git
from ootci.adapters.folder_lock import locked
from ootci.adapters.progress import Progress
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import one_line, show
from ootci.errors import BadOption, TorchNotBuilt
from ootci.flows.context import Folders, clock
from ootci.flows.planning import enter_torch
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.relay import RELAY_MINUTES
from ootci.model.torch_build import NONE_THERE
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
    wheel = folders.workspace.torch_wheels / built.wheel
    if plan is not None:
        enter_torch(plan, folders, wheel, None)
    facts = {"path": str(wheel), **built.model_dump(mode="json")}
    show(facts, output_format, one_line(f"{wheel}: torch {built.version}, {built}"))


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
    what = plan.trigger.proposal
    if what is None:
        raise BadOption(
            "the plan is for no pull request and no push",
            where="--planned",
            fix="plan with `ootci plan --pull-request`, or give --ref",
        )
    ref = what.ref if what.pull_request else what.commit
    # `ootci torch fetch` left its reason there.
    reasons = {run.torch.unavailable_reason for run in plan.runs} - {None}
    looked = next((reason for reason in reasons if reason and reason.startswith(NONE_THERE)), None)
    return Wanted(remote, ref, what.pull_request, what.commit, looked)
