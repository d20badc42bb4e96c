"""``ootci device check``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ootci.adapters.github_rest import GithubRest
from ootci.cli.context import Folders, clock, folder_options, format_option
from ootci.errors import EXIT_FINE, EXIT_INPUT, OotciError
from ootci.model.device import BAD_RANGES, load_bad_ranges, load_registry
from ootci.model.review import CheckResult, CheckState, FileReview, Review
from ootci.stages.onboard import PATIENCE_SECONDS, check_file, check_online, require_no_link
from ootci.stages.render import review_answer, review_lines


@click.command(short_help="Say what is wrong with device files.")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--online",
    is_flag=True,
    help="Ask for links and for the maintainers on GitHub, too. A network that fails is a warning.",
)
@format_option
@folder_options("devices")
def check(files: tuple[Path, ...], online: bool, output_format: str, folders: Folders) -> None:
    """Check device FILES, or every file in devices/: what is wrong, on which line, and what to do.

    Every check that can be made is made. A warning is no failure. Exit code 2 when a check failed. With --online,
    GitHub answers more questions when GITHUB_TOKEN holds a token, which needs no permission at all.
    """
    of_all = folders.devices / BAD_RANGES
    listed = [folders.devices] if folders.devices.is_file() else sorted(folders.devices.glob("*.y*ml"))
    if not files and not listed:
        load_registry(folders.devices)
    paths = files or (*listed, *([of_all] if of_all.exists() else []))
    rest = GithubRest(os.environ.get("GITHUB_TOKEN") or None, patience=PATIENCE_SECONDS) if online else None
    review = Review(files=tuple(checked(path, rest) for path in paths))
    show_review(review, output_format)
    sys.exit(EXIT_FINE if review.is_good else EXIT_INPUT)


def show_review(review: Review, output_format: str) -> None:
    """Print what was found."""
    if output_format == "json":
        click.echo(review.to_json(), nl=False)
    elif output_format == "markdown":
        click.echo(review_answer(review), nl=False)
    else:
        click.echo("\n".join(review_lines(review)))


def checked(path: Path, rest: GithubRest | None) -> FileReview:
    """Check one file, online where there is a client to ask GitHub with."""
    if path.parts[-2:] == BAD_RANGES.parts:
        return FileReview(path=path.as_posix()[-500:], checks=checked_bad_ranges(path))
    found = check_file(path, clock().date())
    results = found.results + (check_online(found.file, rest) if rest else ())
    name = found.file.device.name if found.file else None
    return FileReview(path=path.as_posix()[-500:], device=name, checks=results)


def checked_bad_ranges(path: Path) -> tuple[CheckResult, ...]:
    """Check the file of the nights that say nothing of any device."""
    try:
        require_no_link(path)
        load_bad_ranges(path)
    except OotciError as error:
        what, where, fix = (text[:2000] for text in (error.what, error.where, error.fix))
        return (CheckResult(check="nights", state=CheckState.FAILED, error=error.id, what=what, where=where, fix=fix),)
    return (CheckResult(check="nights", state=CheckState.PASSED),)
