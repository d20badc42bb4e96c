"""``ootci dispatch`` and ``ootci receive``: the nightly's devices, each in a workflow run of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.github_runs import GithubRuns
from ootci.cli.home import TOKEN_VARIABLE, named_repository
from ootci.cli.options import folder_options, format_option, github_output_option
from ootci.cli.show import append, note, one_line, show
from ootci.errors import BadOption
from ootci.flows.context import Folders, attempt_number, clock
from ootci.flows.dispatch import start
from ootci.flows.receive import Received, fetch_documentation, receive
from ootci.history.store import History
from ootci.model.plan import SCHEDULE, Plan
from ootci.model.record import read, write

repository_option = click.option(
    "--repository", metavar="OWNER/NAME", help="Repository of the runs. Default: GITHUB_REPOSITORY."
)
branch_option = click.option(
    "--branch", envvar="GITHUB_REF_NAME", metavar="NAME", help="Branch of the runs. Default: GITHUB_REF_NAME."
)


def _runs(repository: str | None, branch: str | None) -> GithubRuns:
    name = named_repository(repository)
    token = os.environ.get(TOKEN_VARIABLE)
    for what, value, where in (
        ("repository", name, "--repository"),
        ("branch", branch, "--branch"),
        ("token", token, TOKEN_VARIABLE),
    ):
        if not value:
            raise BadOption(f"there is no {what}", where=where, fix="set it; in a workflow only GITHUB_TOKEN is needed")
    return GithubRuns(GithubRest(token), name, branch or "")


@click.command("dispatch", short_help="Start a workflow run for each planned device.")
@click.option("--jobs", required=True, metavar="JSON", help="The matrix that `ootci plan --github-output` wrote.")
@click.option(
    "--run-id", envvar="GITHUB_RUN_ID", required=True, metavar="N", help="Run with the plan. Default: GITHUB_RUN_ID."
)
@click.option("--plan-artifact", required=True, metavar="NAME", help="Name of that run's artifact with plan.json.")
@repository_option
@branch_option
@format_option
@folder_options("work")
def dispatch(
    jobs: str,
    run_id: str,
    plan_artifact: str,
    repository: str | None,
    branch: str | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Start a run of device-run.yml for each device that is tested here, or whose source is compiled, and has none yet.

    GITHUB_TOKEN needs `actions: write`.
    """
    plan = read(Plan, folders.workspace.plan)
    started = start(_runs(repository, branch), plan, _jobs(jobs), run_id=run_id, artifact=plan_artifact, say=note)
    show({"started": started}, output_format, f"runs started: {len(started)}")


def _jobs(text: str) -> list[Mapping[str, object]]:
    try:
        found = json.loads(text)["include"]
        jobs = [job for job in found if isinstance(job["device"], str)]
    except (ValueError, RecursionError, KeyError, TypeError):
        jobs, found = [], None
    if found is None or len(jobs) != len(found):
        raise BadOption("it is no matrix of jobs", where="--jobs", fix="give the output `matrix` of `ootci plan`")
    return jobs


@click.command("receive", short_help="Add the reports of nightlies from their workflow runs.")
@click.option("--always", is_flag=True, help="Say that pages are to be published even if nothing was added.")
@github_output_option(
    "Append `received` and `publish`, each yes or no, and `devices`, those to report to the relay, to this file.",
)
@repository_option
@branch_option
@format_option
@folder_options("devices", "work", "history")
def receive_command(
    always: bool,
    github_output: Path | None,
    repository: str | None,
    branch: str | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Add what devices reported to the history, from the workflow runs that `ootci dispatch` started.

    A nightly is added when all its devices have reported, or four hours after its plan with those that did; later
    reports are added when they come. A run that has waited four hours for its runner is cancelled, and the device's
    verdict is INFRA; a run of pull-request.yml is cancelled after six. Gets the newest nightly's documentation, too,
    for `ootci render`.

    GITHUB_TOKEN needs `actions: write`.
    """
    github = _runs(repository, branch)
    with locked(folders.work):
        found = receive(github, folders.registry(), folders, clock(), note)
        if found:
            write(found[-1].plan, folders.workspace.plan)
        # An earlier attempt may have added everything and then failed.
        received = bool(found) or attempt_number() > 1
        publish = received or always
        if publish and not fetch_documentation(github, folders):
            note("the newest nightly left no documentation")
    newest = next((plan.id for plan in reversed(History(folders.history).plans())), None)
    relayed = [device for one in found if one.plan.id == newest for device in _relayed(one)]
    answers = {"received": received, "publish": publish}
    lines = [f"{key}={'yes' if value else 'no'}\n" for key, value in answers.items()]
    append("".join([*lines, f"devices={' '.join(relayed)}\n"]), github_output)
    texts = [f"{one.plan.id}: {', '.join(one.devices) or 'no device'}" for one in found]
    facts = [{"nightly": one.plan.id, "devices": list(one.devices)} for one in found]
    show({"received": facts, "publish": publish}, output_format, "\n".join(map(one_line, texts)) or "nothing new")


def _relayed(received: Received) -> list[str]:
    """The devices to report to the relay; none of a nightly that was started by hand, which may test anything."""
    if received.plan.trigger.event != SCHEDULE:
        return []
    here = [run.device for run in received.plan.runs if run.external is None]
    return here if received.is_new else [device for device in here if device in received.devices]
