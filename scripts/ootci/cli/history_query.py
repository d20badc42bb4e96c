"""``ootci history query`` and ``ootci history export``: the history for people and for other tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import click

from ootci.adapters.table_files import write_sqlite
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import note, one_line, shortened, show, table
from ootci.flows.context import Folders
from ootci.history.export import TABLES, exported
from ootci.history.life import Life, LifeEntry, life_of, matching_tests
from ootci.history.reader import HistoryReader
from ootci.model.device import name_of
from ootci.model.outcome import FAILURES
from ootci.model.torch_build import TorchBuild

HEADINGS = ("nights", "runs", "outcome", "torch", "plugin", "message")
MESSAGE = 100


@click.command(short_help="Show a test's outcomes over time.")
@click.argument("device")
@click.argument("test")
@format_option
@folder_options("history")
def query(device: str, test: str, output_format: str, folders: Folders) -> None:
    """Show the outcome of TEST on DEVICE on each night, with the versions of torch and plugin.

    TEST is a test's id, or one with * and ? in it. When several tests fit, their ids are listed.

    \b
    ootci history query openreg 'smoke/*'
    ootci history query openreg 'ops/test_forward.py::test_forward[add-float32]'

    Consecutive nights with the same outcome are one line; `--format json` lists each night.
    """
    history = HistoryReader(folders.history)
    device = name_of(device)
    found = matching_tests(history, device, test)
    if len(found) > 1:
        show(found, output_format, "\n".join(map(one_line, found)))
        note(f"{len(found)} tests fit; name one of them to see its life")
        return
    life = life_of(history, device, found[0])
    show(life, output_format, lambda markdown: _text(life, markdown))


def _text(life: Life, markdown: bool) -> str:
    """A timeline for people: the present outcome and since when, then its intervals of nights."""
    intervals = life.intervals()
    rows = [_row(interval) for interval in intervals]
    title = f"{one_line(life.test)} on {life.device}"
    parts = [
        title if life.title is None else f"{title}: {one_line(life.title)}",
        _now(life, intervals[-1]),
        _counts(life),
    ]
    return "\n".join([*parts, "", table(HEADINGS, rows, markdown=markdown)])


def _now(life: Life, last: Sequence[LifeEntry]) -> str:
    text, streak = f"{_outcome(last[0])} since {_date(last[0])}", life.streak
    if streak is None or last[0].outcome not in FAILURES:
        return text
    if streak.last_passed is None:
        return f"{text}; it has never passed"
    changed = {True: "changed", False: "did not change", None: "may have changed"}[streak.plugin_changed]
    commits = f", and PyTorch's commits are {streak.commits_url}" if streak.commits_url else ""
    return f"{text}; passed last on {streak.last_passed.date:%Y-%m-%d}; in between the plugin {changed}{commits}"


def _counts(life: Life) -> str:
    counts = Counter(_outcome(entry) for entry in life.entries)
    return f"of {len(life.entries)}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())


def _row(interval: Sequence[LifeEntry]) -> tuple[str, ...]:
    first, last = interval[0], interval[-1]
    runs = sum(entry.attempt is not None for entry in interval)
    message = next((entry.message for entry in reversed(interval) if entry.message), "")
    return (
        _span(_date(first), _date(last)),
        str(runs) if runs else "-",
        _outcome(first),
        _span(_torch(first.torch), _torch(last.torch)),
        _span(_plugin(first), _plugin(last)),
        shortened(message, MESSAGE),
    )


def _span(first: str, last: str) -> str:
    return first if first == last else f"{first} .. {last}"


def _date(entry: LifeEntry) -> str:
    return f"{entry.planned_at:%Y-%m-%d}"


def _outcome(entry: LifeEntry) -> str:
    if entry.outcome is None:
        return entry.absent or "not in the run"
    return ", then ".join(outcome.value for outcome in (entry.outcome, *entry.later))


def _torch(torch: TorchBuild | None) -> str:
    if torch is None:
        return "-"
    return torch.version if torch.git_version is None else f"{torch.version} ({torch.git_version[:10]})"


def _plugin(entry: LifeEntry) -> str:
    if entry.plugin_version is None:
        return "-"
    commit = entry.plugin_commit
    return entry.plugin_version if commit is None else f"{entry.plugin_version} ({commit[:10]})"


@click.command(short_help="Export tables to SQLite.")
@click.argument("target", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--device", "names", multiple=True, metavar="DEVICE", help="Only this device; repeatable.")
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="Only nightlies planned on that UTC day or later.",
)
@click.option("--all-outcomes", "everything", is_flag=True, help="Also tests that passed, were skipped or unsupported.")
@format_option
@folder_options("history")
def export(
    target: Path,
    names: tuple[str, ...],
    since: datetime | None,
    everything: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Export the history to an SQLite file TARGET: tables of nightlies, runs, stages and outcomes.

    By default, outcomes leave out tests that passed, were skipped or are unsupported; the table of runs has their
    counts.

    \b
    ootci history export history.sqlite
    ootci history export history.sqlite --since 2026-10-01 --all-outcomes
    """
    history = HistoryReader(folders.history)
    start = since.replace(tzinfo=timezone.utc) if since else None
    rows = exported(history, devices=tuple(map(name_of, names)), since=start, everything=everything)
    counts = write_sqlite(target, TABLES, rows)
    text = f"{target}: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    show({"target": str(target), **counts}, output_format, one_line(text))
