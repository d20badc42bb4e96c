"""Saying something so that GitHub shows it on the page of a workflow run."""

from __future__ import annotations

import os

import click

from ootci.adapters.terminal import plain
from ootci.errors import OotciError


def show_warning(subject: str, error: OotciError) -> None:
    """Print an error that stops nothing, on stderr: in its three parts, and on GitHub Actions as an annotation, too."""
    click.echo(f"{click.style(f'warning {error.id}', fg='yellow', bold=True)}: {subject}: {error}", err=True)
    if os.environ.get("GITHUB_ACTIONS") == "true":
        text = f"{subject}: {error.what}. What to do: {error.fix}"
        click.echo(f"::warning title={_property(error.id)}::{_data(text)}", err=True)


def _data(text: str) -> str:
    """Text that a runner takes for text; source: GitHub's documentation, "Workflow commands"."""
    return plain(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
