"""``ootci history``."""

from __future__ import annotations

from collections.abc import Callable

import click

from ootci.adapters.data_branch import DataBranch
from ootci.adapters.folder_lock import held
from ootci.adapters.remote_git import origin
from ootci.cli import history_export, history_query, history_upkeep
from ootci.cli.context import Folders, InOrder, attempt_number, folder_options, format_option
from ootci.cli.report import told
from ootci.errors import BadOption, OotciError, StageFileMissing
from ootci.history.layout import UNFINISHED
from ootci.history.store import History
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.workspace import Workspace

remote_option = click.option(
    "--remote", metavar="URL", help="Repository that holds the data branch, a URL or a path; this checkout's origin."
)
branch_option = click.option("--branch", default="data", show_default=True, help="Name of the data branch.")


PATIENCE = 60.0
"""Seconds that appending waits for another command to have ended."""


@click.group(cls=InOrder)
def history() -> None:
    """The store of past nightlies and runs."""


def append_workspace(workspace: Workspace, store: History, say: Callable[[str], None]) -> tuple[int, int]:
    """Add the work folder's plan and every run.json that belongs to it.

    The folders of runs may be artifacts of jobs that ran vendor code: only a valid run that the plan expected is
    taken, and a bad one never keeps the others out.

    Args:
        workspace: the work folder.
        store: the history.
        say: told about each run that was not taken.

    Returns:
        How many runs were new, and how many were there already.

    Raises:
        StageFileMissing: there is no plan.
        HistoryConflict: a different plan has the same id.
        Busy: another command writes to the history.

    """
    plan = read(Plan, workspace.plan)
    store.folder.mkdir(parents=True, exist_ok=True)
    # What was tested for hours is worth a wait.
    with held(store.folder, PATIENCE), store.together():
        store.append_plan(plan)
        return _append_runs(workspace, plan, store, say)


def _append_runs(workspace: Workspace, plan: Plan, store: History, say: Callable[[str], None]) -> tuple[int, int]:
    expected = {(run.run_id, run.device) for run in plan.runs}
    added = known = 0
    for folder in workspace.runs():
        if not folder.run.exists():
            continue
        try:
            run = read(Run, folder.run)
            if run.plan_id != plan.id:
                continue
            if (run.id, run.device) not in expected:
                say(f"{folder.run}: not taken, the plan expects no run {run.id} of {run.device}")
            elif run.attempt > attempt_number():
                say(f"{folder.run}: not taken, it says attempt {run.attempt} and this is attempt {attempt_number()}")
            elif store.append_run(run):
                added += 1
            else:
                known += 1
        except OotciError as error:
            say(f"not taken: {error.id}: {error}")
    return added, known


def _data_branch(folders: Folders, remote: str | None, branch: str) -> DataBranch:
    return DataBranch(folders.history, _remote(remote), branch, unfinished=UNFINISHED)


def _remote(given: str | None) -> str:
    remote = given or origin()
    if remote is None:
        raise BadOption(
            "there is no remote",
            where="--remote",
            fix="name a repository, or run this in a checkout that has an origin",
        )
    return remote


@history.command(short_help="Add the work folder's plan and runs.")
@format_option
@folder_options("work", "history")
def append(output_format: str, folders: Folders) -> None:
    """Add the work folder's plan.json and every run.json to the history."""
    added, known = append_workspace(
        folders.workspace, History(folders.history), lambda text: click.echo(text, err=True)
    )
    text = f"runs appended: {added}; there already: {known}"
    click.echo(told(text, {"appended": added, "there_already": known}, output_format))


@history.command(short_help="Get the data branch.")
@remote_option
@branch_option
@format_option
@folder_options("history")
def fetch(remote: str | None, branch: str, output_format: str, folders: Folders) -> None:
    """Make the history folder a checkout of the data branch; what was appended and not published stays."""
    found = _data_branch(folders, remote, branch).fetch()
    text = f"fetched the branch {branch}" if found else f"the branch {branch} does not exist yet; starting empty"
    click.echo(told(text, {"branch": branch, "exists": found}, output_format))


@history.command(short_help="Push what was appended to the data branch.")
@remote_option
@branch_option
@format_option
@folder_options("work", "history")
def publish(remote: str | None, branch: str, output_format: str, folders: Folders) -> None:
    """Commit what was appended and push it to the data branch."""
    try:
        message = f"Nightly {read(Plan, folders.workspace.plan).id}"
    except StageFileMissing:
        message = "Append runs"
    pushed = _data_branch(folders, remote, branch).publish(message)
    text = f"pushed to the branch {branch}" if pushed else "nothing to push"
    click.echo(told(text, {"branch": branch, "pushed": pushed}, output_format))


for command in (
    history_query.query,
    history_export.export,
    history_upkeep.verify,
    history_upkeep.gc,
    history_upkeep.withdraw,
):
    history.add_command(command)
