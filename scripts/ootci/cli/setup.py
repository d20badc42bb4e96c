"""``ootci home``: whether a workflow run publishes. ``ootci setup``: which steps of the operator's guide are done."""

from __future__ import annotations

import os
import sys
from collections import Counter
from pathlib import Path

import click

from ootci.adapters.github_repository import GithubSettings
from ootci.adapters.github_repository import repository as asked_repository
from ootci.adapters.github_rest import GithubRest
from ootci.cli.home import TOKEN_VARIABLE, decided, named_repository, required_repository
from ootci.cli.options import folder_options, format_option, github_output_option
from ootci.cli.show import append, show, show_table
from ootci.errors import EXIT_FINE, EXIT_INFRASTRUCTURE, BadOption
from ootci.flows.context import Folders
from ootci.flows.setup import State, steps
from ootci.model.device import load_registry


@click.command("home", short_help="Check whether this workflow run publishes.")
@github_output_option("Append `home`: yes or no, to this file.")
@click.option("--summary", type=click.Path(path_type=Path), help="Append the reason, where it is no, to this file.")
@format_option
def home_command(github_output: Path | None, summary: Path | None, output_format: str) -> None:
    """Check whether this workflow run publishes: on the default branch of a repository that is no fork.

    GitHub is asked which branch that is. Elsewhere the devices are tested too, but nothing is pushed to the
    history, deployed, reported or written into issues. GITHUB_TOKEN is needed for a private repository only.
    """
    publishes, why = decided(None, named_repository(None))
    why = why.partition(";")[0]
    text = f"{'this run publishes' if publishes else 'this run publishes nothing'}: {why}"
    append(f"home={'yes' if publishes else 'no'}\n", github_output)
    if not publishes:
        append(f"{text[0].upper()}{text[1:]}.\n\n", summary)
    show({"home": publishes, "reason": why}, output_format, text)


@click.command("setup", short_help="Check which steps of the operator's guide are done.")
@click.option("--check", is_flag=True, required=True, help="Read the repository's settings; nothing is changed.")
@click.option("--repository", metavar="OWNER/NAME", help="Repository to check. Default: GITHUB_REPOSITORY.")
@format_option
@folder_options("devices")
def setup_command(check: bool, repository: str | None, output_format: str, folders: Folders) -> None:
    """Check which steps of the operator's guide are done, with the page of each that is not.

    Reads the settings with GITHUB_TOKEN, a token of an administrator; `gh auth token` prints one. What the token may
    not read is "cannot tell". Exit code 0 if every step is done or off, else 3.
    """
    name = required_repository(repository)
    token = os.environ.get(TOKEN_VARIABLE)
    if not token:
        raise BadOption(
            "there is no token to read the settings with",
            where=TOKEN_VARIABLE,
            fix="set it to a token of an administrator of the repository, such as `gh auth token` prints",
        )
    devices = tuple(item.device for item in load_registry(folders.devices) if item.device.paused is None)
    rest = GithubRest(token)
    found = asked_repository(rest, name)
    server = os.environ.get("GITHUB_SERVER_URL") or "https://github.com"
    told = steps(name, found, GithubSettings(rest, name, found), devices, server)
    rows = [(step.state.value, step.name, step.detail, step.page) for step in told]
    counts = Counter(step.state for step in told)
    end = ", ".join(f"{counts[state]} {state.value}" for state in State)
    show_table(("state", "step", "detail", "page"), rows, output_format, summary=end)
    sys.exit(EXIT_INFRASTRUCTURE if counts[State.NOT_DONE] or counts[State.CANNOT_TELL] else EXIT_FINE)
