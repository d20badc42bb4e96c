"""``ootci home``: whether a workflow run publishes."""

from __future__ import annotations

from pathlib import Path

import click

from ootci.cli.home import decided, named_repository
from ootci.cli.options import format_option
from ootci.cli.show import append, show


@click.command("home", short_help="Say whether this workflow run publishes.")
@click.option(
    "--github-output",
    type=click.Path(path_type=Path),
    help="Append `home`: yes or no, to this file.",
)
@click.option("--summary", type=click.Path(path_type=Path), help="Append the reason, where it is no, to this file.")
@format_option
def home_command(github_output: Path | None, summary: Path | None, output_format: str) -> None:
    """Say whether this workflow run publishes: on the default branch of a repository that is no fork.

    GitHub is asked which branch that is. Elsewhere the devices are tested all the same, but nothing is pushed to the
    history, deployed, reported or written into issues. GITHUB_TOKEN is needed for a private repository only.
    """
    publishes, why = decided(None, named_repository(None))
    why = why.partition(";")[0]
    text = f"{'this run publishes' if publishes else 'this run publishes nothing'}: {why}"
    if github_output is not None:
        append(f"home={'yes' if publishes else 'no'}\n", github_output)
    if summary is not None and not publishes:
        append(f"{text[0].upper()}{text[1:]}.\n\n", summary)
    show({"home": publishes, "reason": why}, output_format, text)
