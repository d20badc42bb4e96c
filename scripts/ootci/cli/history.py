"""``ootci history``: the commands that get, change and publish the store of past nightlies and runs."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

import click

from ootci.adapters.data_branch import DataBranch
from ootci.adapters.folder_lock import held
from ootci.adapters.remote_git import origin
from ootci.adapters.terminal import plain
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import bytes_text, note, one_line, show
from ootci.errors import EXIT_FINE, EXIT_INFRASTRUCTURE, BadOption, StageFileMissing
from ootci.flows.context import Folders, clock
from ootci.flows.reports import append_workspace
from ootci.history.gc import Removed, old_details, remove
from ootci.history.layout import UNFINISHED
from ootci.history.reader import HistoryReader
from ootci.history.store import History
from ootci.history.verify import Report
from ootci.history.verify import verify as verify_history
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.words import many

remote_option = click.option(
    "--remote", metavar="URL", help="Repository of the data branch, a URL or a path. Default: this checkout's origin."
)
branch_option = click.option("--branch", default="data", show_default=True, help="Name of the data branch.")


def _data_branch(folders: Folders, given: str | None, branch: str) -> DataBranch:
    # Git works in the history folder, where a path would lead somewhere else.
    is_path = given is not None and not re.match(r"[^/]*:", given)
    remote = str(Path(given).absolute()) if given and is_path else given or origin()
    if remote is None:
        raise BadOption(
            "there is no remote",
            where="--remote",
            fix="name a repository, or run this in a checkout that has an origin",
        )
    return DataBranch(folders.history, remote, branch, unfinished=UNFINISHED)


@click.command(short_help="Add the work folder's plan and runs.")
@format_option
@folder_options("work", "history")
def append(output_format: str, folders: Folders) -> None:
    """Add the work folder's plan.json and every run.json to the history."""
    added, known = append_workspace(folders.workspace, History(folders.history), note)
    text = f"runs appended: {len(added)}; there already: {known}"
    show({"appended": len(added), "there_already": known}, output_format, one_line(text))


@click.command(short_help="Download the data branch.")
@remote_option
@branch_option
@format_option
@folder_options("history")
def fetch(remote: str | None, branch: str, output_format: str, folders: Folders) -> None:
    """Check out the data branch into the history folder. Entries that are not published yet stay."""
    found = _data_branch(folders, remote, branch).fetch()
    text = f"fetched the branch {branch}" if found else f"the branch {branch} does not exist yet; starting empty"
    show({"branch": branch, "exists": found}, output_format, one_line(text))


@click.command(short_help="Push new entries to the data branch.")
@remote_option
@branch_option
@format_option
@folder_options("work", "history")
def publish(remote: str | None, branch: str, output_format: str, folders: Folders) -> None:
    """Commit new entries and push them to the data branch."""
    try:
        message = f"Nightly {read(Plan, folders.workspace.plan).id}"
    except StageFileMissing:
        message = "Append runs"
    pushed = _data_branch(folders, remote, branch).publish(message)
    text = f"pushed to the branch {branch}" if pushed else "nothing to push"
    show({"branch": branch, "pushed": pushed}, output_format, one_line(text))


def _must_exist(folders: Folders) -> None:
    if not folders.history.is_dir():
        raise StageFileMissing(
            "there is no history folder",
            where=str(folders.history),
            fix="name one with --history, or run `ootci history fetch`",
        )


@click.command(short_help="Check the history for errors.")
@format_option
@folder_options("history")
def verify(output_format: str, folders: Folders) -> None:
    """Read the whole history and list errors. Exit code 3 if there are any."""
    _must_exist(folders)
    report = verify_history(folders.history)
    show(report, output_format, lambda markdown: "\n".join(_verify_lines(report, "- " if markdown else "")))
    sys.exit(EXIT_INFRASTRUCTURE if report.problems else EXIT_FINE)


def _verify_lines(report: Report, bullet: str) -> list[str]:
    lines = [
        f"{report.nightlies} nightlies, {report.runs} runs of {report.devices} devices, {report.tests} tests, "
        f"{report.outcomes} outcomes in {bytes_text(report.bytes)}; {report.texts} runs have their texts and "
        f"{report.measures} their measures"
    ]
    lines += [f"{bullet}note: {one_line(note)}" for note in report.notes]
    for problem in report.problems:
        lines.append(f"{bullet}{one_line(problem.where)}: {one_line(problem.what)}")
        lines.append(f"    what to do: {one_line(problem.fix)}")
    lines.append(many(len(report.problems), "problem") if report.problems else "everything can be read back")
    return lines


@click.command(short_help="Delete old details.")
@click.option("--dry-run", is_flag=True, help="Only list what would be deleted.")
@format_option
@folder_options("history")
def gc(dry_run: bool, output_format: str, folders: Folders) -> None:
    """Delete old details: texts of failures after 90 nights, durations and operator counts after 5 runs of a device.

    The newest 5 runs keep their texts, too. Outcomes and error signatures are kept forever.
    """
    _must_exist(folders)
    with held(folders.history):
        found = old_details(HistoryReader(folders.history))
        if not dry_run:
            remove(found, folders.history)
    files = [(str(file.path.relative_to(folders.history)), file.size) for file in found]
    lines = [f"{one_line(name)}  {bytes_text(size)}" for name, size in files]
    facts = {"removed": not dry_run, "files": [{"file": name, "bytes": size} for name, size in files]}
    show(facts, output_format, "\n".join([*lines, f"{'would remove' if dry_run else 'removed'} {_summary(found)}"]))


@click.command(short_help="Exclude a nightly from verdicts.")
@click.argument("plan_id", metavar="NIGHTLY")
@click.option("--reason", required=True, metavar="TEXT", help="Reason, kept with the nightly.")
@format_option
@folder_options("history")
def withdraw(plan_id: str, reason: str, output_format: str, folders: Folders) -> None:
    """Exclude a nightly and its runs from verdicts.

    For a nightly that should not count, such as one with a wrong date. Its files and pages stay, marked with when and
    why.
    """
    reason = " ".join(plain(reason).split())
    if not reason:
        raise BadOption("it is empty", where="--reason", fix="say why the nightly should not count; its page has it")
    _must_exist(folders)
    history = History(folders.history)
    with held(folders.history):
        done = history.withdraw(plan_id, clock(), reason)
    text = (
        f"withdrew the nightly {plan_id}; publish it with `ootci history publish`"
        if done
        else f"the nightly {plan_id} was withdrawn before"
    )
    show({"nightly": plan_id, "withdrawn": done}, output_format, one_line(text))


def _summary(found: tuple[Removed, ...]) -> str:
    words = {
        "texts": "texts of {} runs",
        "measures": "measures of {} runs",
        "accuracies": "accuracy of {} runs",
        "unfinished": "{} files that no run names",
    }
    counts = Counter(file.why for file in found)
    parts = [text.format(counts[why]) for why, text in words.items() if counts[why]]
    return f"{', '.join(parts)}: {bytes_text(sum(file.size for file in found))}" if parts else "nothing"
