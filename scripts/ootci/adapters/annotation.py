"""Errors and warnings on stderr; on GitHub Actions the page of the workflow run and its summary show them, too."""

from __future__ import annotations

import contextlib
import html
import os
import re
from pathlib import Path

import click

from ootci.adapters.terminal import clean, echo, one_line  # noqa: TID251
from ootci.errors import OotciError

CALLER = "caller/"
"""Where device.yml checks out the repository that calls it: an error names the caller's own path."""
_PLACE = re.compile(r"(?P<file>[^\s:]+\.ya?ml)(?::(?P<line>[0-9]+))?")
"""The location of an error in a file: ``devices/x.yaml:12``."""


def show_error(error: OotciError) -> None:
    """Print an error in its three parts, on stderr."""
    _show("error", "red", error)


def show_warning(subject: str, error: OotciError) -> None:
    """Print an error that does not end the command, on stderr, as a warning."""
    _show("warning", "yellow", error, subject)


def show_notice(head: str, text: str) -> None:
    """Print a notice on stderr; on GitHub Actions also as an annotation and in the summary of the job."""
    text = one_line(text)
    echo(f"{head}: {text}", err=True)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        echo("", err=True, head=f"::notice title={_property(head)}::{_data(text)}")
        _summarise(head, text)


def _show(level: str, colour: str, error: OotciError, subject: str = "") -> None:
    """Print an error or a warning; on GitHub Actions also as an annotation and in the summary of the job.

    Colours only on a terminal, and not where NO_COLOR is set; source: https://no-color.org.
    """
    about = f"{one_line(subject)}: " if subject else ""
    what, where, fix = map(one_line, (error.what, error.where, error.fix))
    if os.environ.get("GITHUB_ACTIONS") == "true":
        where = where.removeprefix(CALLER)
    head = click.style(f"{level} {error.id}", fg=colour, bold=True)
    echo(f": {about}{what}\n  where: {where}\n  what to do: {fix}", err=True, head=head)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        place = _PLACE.fullmatch(where)
        found = {key: value for key, value in place.groupdict().items() if value} if place else {}
        properties = ",".join(f"{key}={_property(value)}" for key, value in {**found, "title": error.id}.items())
        at = "" if found else f" ({where})"
        echo("", err=True, head=f"::{level} {properties}::{_data(f'{about}{what}{at}. What to do: {fix}')}")
        _summarise(f"{level} {error.id}", f"{about}{what} ({where}). What to do: {fix}.")


def _summarise(head: str, text: str) -> None:
    """Add a paragraph to the summary of the job, as one line of HTML, so that no text is read as Markdown.

    Source: GitHub's documentation, "Workflow commands", "Adding a job summary".
    """
    if file := os.environ.get("GITHUB_STEP_SUMMARY"):
        # A summary that cannot be written must not hide the error itself.
        with contextlib.suppress(OSError), Path(file).open("a", encoding="utf-8") as stream:
            stream.write(f"<p><b>{head}</b>: {html.escape(text)}</p>\n\n")


def _data(text: str) -> str:
    """Text escaped for a workflow command; source: GitHub's documentation, "Workflow commands"."""
    return clean(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
