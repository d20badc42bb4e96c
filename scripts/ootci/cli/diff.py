"""``ootci diff``."""

from __future__ import annotations

import sys

import click

from ootci.cli.context import Folders, folder_options, format_option
from ootci.cli.difference_text import difference_text
from ootci.errors import EXIT_DEVICE, EXIT_FINE
from ootci.history.claims import known_ids
from ootci.history.difference import difference
from ootci.history.reference import find_run
from ootci.history.store import History
from ootci.history.stored import stored


@click.command("diff", short_help="Compare any two runs, test by test.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--all", "everything", is_flag=True, help="Print every test, not the first 20 of each class.")
@format_option
@folder_options("history")
def diff(before: str, after: str, everything: bool, output_format: str, folders: Folders) -> None:
    """Say how run B differs from run A: two nights of one device, or two devices on one night.

    \b
    A and B are each one of
      DEVICE@latest             its newest nightly
      DEVICE@previous           the nightly before that
      DEVICE@NIGHTLY            a nightly by its plan's id, or by as much of it as no other
                                begins with, such as openreg@20261121
      DEVICE@NIGHTLY.ATTEMPT    not the last attempt, but that one
      RUN-ID                    as the dashboard shows it: 20261121-041000-openreg
      PATH                      a run.json: anything with a / in it, or that ends in .json

    Exit code 1 when B is worse than A: a test of a required suite fails that did not fail in A and that its vendor
    did not know to fail, or a stage broke, or a report is missing or broken off. Exit code 0 when it is not worse.
    """
    history = History(folders.history)
    first, second = find_run(history, before), find_run(history, after)
    plan = next((plan for plan in history.plans() if plan.id == second.plan_id), None)
    found = difference(first, second, known_ids(plan, stored(second)))
    if output_format == "json":
        click.echo(found.model_dump_json(indent=1))
    else:
        click.echo(difference_text(found, markdown=output_format == "markdown", everything=everything))
    sys.exit(EXIT_DEVICE if found.worse else EXIT_FINE)
