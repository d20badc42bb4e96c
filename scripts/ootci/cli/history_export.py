"""``ootci history export``."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import click

from ootci.adapters.table_files import write_parquet, write_sqlite
from ootci.cli.context import Folders, folder_options, format_option
from ootci.cli.report import told
from ootci.history.export import TABLES, exported
from ootci.history.reader import HistoryReader

SQLITE = (".sqlite", ".sqlite3", ".db")


@click.command(short_help="Write tables for other tools.")
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--device", "names", multiple=True, metavar="NAME", help="This device only; may be repeated.")
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
    """Write the history as tables that other tools read: nightlies, runs, stages, outcomes.

    TARGET is an SQLite file when it ends in .sqlite, .sqlite3 or .db, else a folder that gets a Parquet file for each
    table (needs `ootci[parquet]`). Of outcomes, only those are written that deserve a look, because all of them are
    many; the table of runs counts each kind.

    \b
    ootci history export history.sqlite
    ootci history export tables --since 2026-10-01 --all-outcomes
    """
    history = HistoryReader(folders.history)
    start = since.replace(tzinfo=timezone.utc) if since else None
    rows = exported(history, devices=names, since=start, everything=everything)
    tables = {name: [(column, kind.value) for column, kind in columns] for name, columns in TABLES.items()}
    counts = (write_sqlite if target.suffix in SQLITE else write_parquet)(target, tables, rows)
    text = f"{target}: " + ", ".join(f"{count} {name}" for name, count in counts.items())
    click.echo(told(text, {"target": str(target), **counts}, output_format))
