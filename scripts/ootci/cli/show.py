"""Printing of commands: data on stdout as text, JSON or markdown, and remarks on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel

from ootci.adapters.terminal import echo, json_text, terminal_width  # noqa: TID251
from ootci.adapters.terminal import one_line as one_line
from ootci.model.build import StageResult, StageStatus
from ootci.model.words import duration

NARROWEST = 12
"""Characters to which a column is cut at most."""


def show(
    data: BaseModel | Mapping[str, object] | Sequence[object], output_format: str, text: str | Callable[[bool], str]
) -> None:
    """Print data on stdout.

    Args:
        data: printed as it is where JSON is requested.
        output_format: ``text``, ``json`` or ``markdown``.
        text: the same for people, or a function that makes it, given whether markdown is wanted; may be empty.

    """
    if output_format != "json":
        printed = text if isinstance(text, str) else text(output_format == "markdown")
    elif isinstance(data, BaseModel):
        printed = json_text(data.model_dump_json(indent=1))
    else:
        printed = json.dumps(data, indent=1)
    show_text(printed)


def show_text(text: str) -> None:
    """Print lines of ours on stdout as they are."""
    echo(text, end="\n" if text and not text.endswith("\n") else "")


def show_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    output_format: str,
    text: str | None = None,
    summary: str | None = None,
) -> None:
    """Print rows as an aligned table with a summary below it, or as the text; as markdown; or as JSON objects."""
    records = [dict(zip(headings, row, strict=True)) for row in rows]
    if text is None or output_format == "markdown":
        # A summary belongs to a list of remedies, which are not cut.
        width = None if summary else terminal_width()
        text = table(headings, rows, markdown=output_format == "markdown", width=width)
        text += f"\n\n{summary}" if summary and output_format != "markdown" else ""
    show(records, output_format, text)


def show_stages(stages: Sequence[StageResult], output_format: str) -> None:
    """Print the results of stages."""
    rows = [(one.name, one.status.value, f"{one.duration:.1f}", one.reason or "") for one in stages]
    show_table(("stage", "status", "seconds", "reason"), rows, output_format, "\n".join(stage_lines(stages)))


def note(text: str) -> None:
    """Print a remark of one line on stderr."""
    echo(one_line(text), err=True)


def append(text: str, file: Path | None) -> None:
    """Append to a file that GitHub Actions reads, such as a step's summary or its outputs, where one is named."""
    if file is None:
        return
    with file.open("a", encoding="utf-8") as stream:
        stream.write(text)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, markdown: bool, width: int | None = None) -> str:
    """Rows as aligned text or as markdown.

    Args:
        width: of the terminal, to which the widest columns of text are cut; None: nothing is cut.

    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if markdown:
        lines = [headings, ["---"] * len(headings), *([cell.replace("|", "\\|") for cell in row] for row in cells)]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    while width is not None and sum(widths) + 2 * (len(widths) - 1) > width and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    lines = [
        [shortened(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)]
        for row in (headings, *cells)
    ]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def stage_lines(stages: Sequence[StageResult]) -> list[str]:
    """A line per stage: name, status, duration, and the reason where it did not pass."""
    lines = []
    for stage in stages:
        remark = "nothing changed" if stage.cached else stage.reason or ""
        ran = stage.status is not StageStatus.NOT_RUN
        seconds = duration(stage.duration) if ran else ""
        lines.append(f"{stage.name:<12}{stage.status.value:<10}{seconds:>9}  {one_line(remark)}".rstrip())
    return lines


def bytes_text(size: int) -> str:
    """A number of bytes for people: ``812 B``, ``3.4 kB``, ``2.1 MB``."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 999_950 else f"{size / 1_000_000:.1f} MB"


def shortened(text: str, length: int) -> str:
    """The same on at most so many characters."""
    flat = one_line(text)
    return flat if len(flat) <= length else flat[: length - 2] + " …"


def code(text: str, *, markdown: bool) -> str:
    """Foreign text on one line; in markdown as code, so that no part of it is markup."""
    flat = one_line(text)
    return "`" + flat.replace("`", "'") + "`" if markdown else flat
