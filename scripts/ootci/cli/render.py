"""``ootci render``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ootci.adapters.annotation import show_warning
from ootci.cli.options import folder_options, format_option, path_option
from ootci.cli.show import append, one_line, show
from ootci.errors import BadOption
from ootci.flows.context import Folders
from ootci.history.store import History
from ootci.model.record import read
from ootci.model.verdict import Verdicts
from ootci.stages.render import render, require_documentation, step_summary


@click.command("render", short_help="Render the dashboard.")
@path_option("--summary", text="Append the nightly's summary as Markdown to FILE.")
@click.option(
    "--address",
    metavar="URL",
    help="Where the site is published, for pages that name their own address. `github-pages` is where GitHub publishes "
    "the repository of the workflow. Default: pages name none.",
)
@path_option(
    "--docs",
    metavar="DIR",
    text="Documentation site built by `make docs`; it is copied to docs/, and pages link to it.",
)
@click.option(
    "--docs-optional",
    is_flag=True,
    help="Warn if DIR has no documentation, and render without. Default: fail.",
)
@format_option
@folder_options("devices", "work", "history", "site")
def render_command(
    summary: Path | None,
    address: str | None,
    docs: Path | None,
    docs_optional: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Render the dashboard from the history and verdicts.json."""
    verdicts = read(Verdicts, folders.workspace.verdicts)
    registry = folders.registry()
    if docs is not None and docs_optional and not _is_there(docs):
        docs = None
    render(registry, History(folders.history), verdicts, folders.site, _address(address), docs=docs)
    if summary is not None:
        append(step_summary(verdicts, registry), summary)
    page = str(folders.site / "index.html")
    show({"page": page}, output_format, one_line(page))


def _is_there(docs: Path) -> bool:
    """Whether there is documentation to publish with the pages; warns if there is none."""
    try:
        require_documentation(docs)
    except BadOption as error:
        show_warning("the pages are made without documentation, and link to none", error)
        return False
    return True


def _address(given: str | None) -> str | None:
    """The address that was given, or that of the repository's pages (GitHub's documentation, "About GitHub Pages")."""
    if given != "github-pages":
        return given
    owner, _, name = os.environ.get("GITHUB_REPOSITORY", "").lower().partition("/")
    if not owner or not name:
        return None
    return f"https://{owner}.github.io/" if name == f"{owner}.github.io" else f"https://{owner}.github.io/{name}/"
