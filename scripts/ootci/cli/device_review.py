"""``ootci device review``: what a pull request proposes for the registry."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ootci.adapters.git import changed_files
from ootci.adapters.github_rest import GithubRest
from ootci.cli.context import clock, format_option
from ootci.cli.device_check import checked_bad_ranges, show_review
from ootci.cli.device_preview import show_preview
from ootci.errors import EXIT_FINE, EXIT_INPUT, OotciError
from ootci.model.device import BAD_RANGES, RegisteredDevice
from ootci.model.plan import Trigger
from ootci.model.record import write
from ootci.model.review import CheckResult, FileReview, Review
from ootci.stages.onboard import PATIENCE_SECONDS, Proposed, check_file, check_online, dry_run, proposed_devices
from ootci.stages.plan import plan
from ootci.stages.render import review_answer

PREVIEW = "preview"
NO_HISTORY = Path("no-history")
"""A folder below the output that is never there: a preview shows the file and no past."""


@click.command(short_help="Review the device files of a pull request.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(".ootci/review"),
    show_default=True,
    metavar="DIR",
    help="Where review.json and the previews go.",
)
@click.option("--online", is_flag=True, help="Ask for links and for the maintainers on GitHub, too.")
@click.option(
    "--summary", type=click.Path(path_type=Path), metavar="FILE", help="Append the answer in markdown to FILE."
)
@format_option
def review(folder: Path, output: Path, online: bool, summary: Path | None, output_format: str) -> None:
    """Review what the checkout FOLDER of a pull request proposes for devices/. Exit code 2 when a check failed.

    FOLDER stands at the commit of the merge, fetched with its parents. Everything in it is data: device files are
    checked, what a nightly would run is planned, the pages they would get are rendered; nothing is built or run.

    There is an answer in every case: review.json, the summary, and stdout.
    """
    try:
        found = _review(folder, output, online)
    except OotciError as error:
        found = Review(files=(), notes=(f"The proposal could not be looked at: {error.what}. {error.fix}."[:2000],))
        _tell(found, output, summary, output_format)
        raise
    _tell(found, output, summary, output_format)
    sys.exit(EXIT_FINE if found.is_good else EXIT_INPUT)


def _tell(found: Review, output: Path, summary: Path | None, output_format: str) -> None:
    write(found, output / Review.FILE)
    if summary is not None:
        with summary.open("a", encoding="utf-8") as stream:
            stream.write(review_answer(found))
    show_review(found, output_format)


def _review(folder: Path, output: Path, online: bool) -> Review:
    files, notes = proposed_devices(changed_files(folder), folder)
    rest = GithubRest(None, patience=PATIENCE_SECONDS) if online else None
    return Review(files=tuple(_file(item, folder, output, rest) for item in files), notes=notes)


def _file(item: Proposed, folder: Path, output: Path, rest: GithubRest | None) -> FileReview:
    told = FileReview(path=item.path[-500:], change=item.change, notes=item.notes)
    if not item.is_there:
        return told
    path = folder / item.path
    if item.path.endswith(BAD_RANGES.as_posix()):
        return told.model_copy(update={"checks": _here(checked_bad_ranges(path), folder)})
    found = check_file(path, clock().date())
    results = found.results + (check_online(found.file, rest) if rest else ())
    update: dict[str, object] = {"checks": _here(results, folder)}
    if found.file is not None:
        update["device"] = found.file.device.name
    # A file of another name than its device's is not registered.
    if found.registered is not None and found.is_named_right:
        update["dry_run"] = _dry_run(found.registered)
        name = found.registered.device.name
        show_preview(found.registered, output / PREVIEW / name, None, output / NO_HISTORY)
        update["preview"] = f"{PREVIEW}/{name}"
    return told.model_copy(update=update)


def _here(results: tuple[CheckResult, ...], folder: Path) -> tuple[CheckResult, ...]:
    """Results whose texts name files as the repository has them, not as they were checked out."""
    top = f"{folder.as_posix()}/"
    fields = ("what", "where", "fix")
    return tuple(
        item.model_copy(update={key: text.replace(top, "") for key in fields if (text := getattr(item, key))})
        for item in results
    )


def _dry_run(item: RegisteredDevice) -> tuple[str, ...]:
    device = item.device
    made = plan((item,), chosen=(device.name,), torch=None, now=clock(), trigger=Trigger(event="local"))
    return tuple(line[:2000] for line in dry_run(device, made))
