"""The commands of ``ootci history`` that keep a history in order."""

from __future__ import annotations

import json
import sys
from collections import Counter
from datetime import datetime, timezone

import click

from ootci.adapters.folder_lock import held
from ootci.adapters.terminal import plain
from ootci.cli.context import Folders, folder_options, format_option
from ootci.cli.report import bytes_text, told
from ootci.errors import EXIT_FINE, EXIT_INFRASTRUCTURE, StageFileMissing
from ootci.history.gc import MEASURES_RUNS, TEXTS_NIGHTS, Removed, old_details, remove
from ootci.history.reader import HistoryReader
from ootci.history.store import History
from ootci.history.verify import Report
from ootci.history.verify import verify as verify_history


def _must_exist(folders: Folders) -> None:
    if not folders.history.is_dir():
        raise StageFileMissing(
            "there is no history folder",
            where=str(folders.history),
            fix="name one with --history, or run `ootci history fetch`",
        )


@click.command(short_help="Read everything back; say what is wrong.")
@format_option
@folder_options("history")
def verify(output_format: str, folders: Folders) -> None:
    """Read the whole history back and say what is wrong with it; exit code 3 when anything is."""
    _must_exist(folders)
    report = verify_history(folders.history)
    if output_format == "json":
        click.echo(report.model_dump_json(indent=1))
    else:
        click.echo("\n".join(_verify_lines(report, "- " if output_format == "markdown" else "")))
    sys.exit(EXIT_INFRASTRUCTURE if report.problems else EXIT_FINE)


def _verify_lines(report: Report, bullet: str) -> list[str]:
    lines = [
        f"{report.nightlies} nightlies, {report.runs} runs of {report.devices} devices, {report.tests} tests, "
        f"{report.outcomes} outcomes in {bytes_text(report.bytes)}; {report.texts} runs have their texts and "
        f"{report.measures} their measures"
    ]
    lines += [f"{bullet}note: {note}" for note in report.notes]
    for problem in report.problems:
        lines.append(f"{bullet}{problem.where}: {problem.what}")
        lines.append(f"    what to do: {problem.fix}")
    count = len(report.problems)
    lines.append(f"{count} problem{'' if count == 1 else 's'}" if count else "everything can be read back")
    return lines


@click.command(short_help="Remove details that are old.")
@click.option(
    "--texts",
    "texts_nights",
    type=click.IntRange(min=0),
    default=TEXTS_NIGHTS,
    show_default=True,
    metavar="NIGHTS",
    help="Keep what failing tests said for so many nights before the newest nightly.",
)
@click.option(
    "--measures",
    "measures_runs",
    type=click.IntRange(min=0),
    default=MEASURES_RUNS,
    show_default=True,
    metavar="RUNS",
    help="Keep durations and operator counts, and texts of any age, of so many of a device's newest runs.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@format_option
@folder_options("history")
def gc(texts_nights: int, measures_runs: int, dry_run: bool, output_format: str, folders: Folders) -> None:
    """Remove old details: texts of failures, durations, operator counts.

    What came of every test, and which failures were alike, stays for good.
    """
    _must_exist(folders)
    with held(folders.history):
        found = old_details(HistoryReader(folders.history), texts_nights, measures_runs)
        if not dry_run:
            remove(found, folders.history)
    files = [(str(file.path.relative_to(folders.history)), file.size) for file in found]
    if output_format == "json":
        listed = [{"file": name, "bytes": size} for name, size in files]
        click.echo(json.dumps({"removed": not dry_run, "files": listed}, indent=1))
        return
    for name, size in files:
        click.echo(f"{name}  {bytes_text(size)}")
    click.echo(f"{'would remove' if dry_run else 'removed'} {_summary(found)}")


@click.command(short_help="Leave a nightly out.")
@click.argument("plan_id", metavar="NIGHTLY")
@click.option("--reason", required=True, metavar="TEXT", help="Why, for those who look for it later.")
@format_option
@folder_options("history")
def withdraw(plan_id: str, reason: str, output_format: str, folders: Folders) -> None:
    """Leave a nightly and its runs out of verdicts and pages from now on.

    For a nightly that should not count, such as one with a wrong date. Its files stay, with a note of when and why.
    """
    _must_exist(folders)
    history = History(folders.history)
    with held(folders.history):
        done = history.withdraw(plan_id, datetime.now(timezone.utc), " ".join(plain(reason).split()))
    text = f"withdrew the nightly {plan_id}" if done else f"the nightly {plan_id} was withdrawn before"
    hint = "; publish it with `ootci history publish`" if done else ""
    click.echo(told(text + hint, {"nightly": plan_id, "withdrawn": done}, output_format))


def _summary(found: tuple[Removed, ...]) -> str:
    words = {"texts": "texts of {} runs", "measures": "measures of {} runs", "unfinished": "{} files that no run names"}
    counts = Counter(file.why for file in found)
    parts = [text.format(counts[why]) for why, text in words.items() if counts[why]]
    return f"{', '.join(parts)}: {bytes_text(sum(file.size for file in found))}" if parts else "nothing"
