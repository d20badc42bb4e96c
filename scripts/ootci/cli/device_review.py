"""``ootci device preview``, ``review`` and ``answer``: the effect of a device file, before it is registered."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import click

from ootci.adapters.github_pulls import GithubPulls
from ootci.adapters.github_rest import GithubRest
from ootci.cli.home import decided, named_repository, required_repository, token_to_write
from ootci.cli.options import folder_options, format_option, output_folder_option, path_option
from ootci.cli.show import append, one_line, show
from ootci.errors import EXIT_FINE, EXIT_INPUT, BadOption, OotciError
from ootci.flows.answer import MARKER, Reviewed, answers
from ootci.flows.context import Folders
from ootci.flows.review import render_preview, review_proposal
from ootci.model.record import write
from ootci.model.review import Review
from ootci.stages.render import review_answer, review_lines


@click.command(short_help="Render a device file's row and page.")
@click.argument("device")
@output_folder_option(
    "Folder for the pages: new, empty, or an earlier preview.", default=Path("preview"), show_default=True
)
@path_option("--run", "run_file", text="A run.json to show as the newest nightly.")
@format_option
@folder_options("devices", "history")
def preview(device: str, output: Path, run_file: Path | None, output_format: str, folders: Folders) -> None:
    """Render the row, the page and the registry entry of DEVICE, a name or a device file.

    Results are taken from --run or the history folder, if there are any. Every page is marked as a preview.
    """
    item = folders.device(device)
    render_preview(item, output, run_file=run_file, history=folders.history)
    name = item.device.name
    places = {"row": f"index.html#{name}", "page": f"d/{name}/index.html", "registry": f"devices/index.html#{name}"}
    pages = {what: str(output / place) for what, place in places.items()}
    show(pages, output_format, "\n".join(f"{what}: {page}" for what, page in pages.items()))


@click.command(short_help="Review the device files of a pull request.")
@click.argument("folder", type=click.Path(path_type=Path))
@output_folder_option("Folder for review.json and the previews.", default=Path(".ootci/review"), show_default=True)
@click.option("--online", is_flag=True, help="Also check links, the plugin's repository, and maintainers on GitHub.")
@path_option("--summary", text="Append the review as Markdown to FILE.")
@format_option
def review(folder: Path, output: Path, online: bool, summary: Path | None, output_format: str) -> None:
    """Review the changes in devices/ of a pull request, checked out in FOLDER. Exit code 2 if a check failed.

    FOLDER is at the merge commit, fetched with its parents. Device files are checked, a nightly is planned and the
    pages are rendered; nothing is built or run.

    The review is always written: to review.json, the summary and stdout.
    """
    try:
        found = review_proposal(folder, output, online=online)
    except OotciError as error:
        found = Review(files=(), notes=(f"The proposal could not be looked at: {error.what}. {error.fix}."[:2000],))
        _tell(found, output, summary, output_format)
        raise
    _tell(found, output, summary, output_format)
    sys.exit(EXIT_FINE if found.is_good else EXIT_INPUT)


def _tell(found: Review, output: Path, summary: Path | None, output_format: str) -> None:
    write(found, output / Review.FILE)
    append(review_answer(found), summary)
    show(found, output_format, lambda markdown: review_answer(found) if markdown else "\n".join(review_lines(found)))


@click.command(short_help="Comment a review on its pull request.")
@click.option("--run", "run_id", type=click.IntRange(1), required=True, help="Id of the reviewing workflow run.")
@click.option("--attempt", type=click.IntRange(1), default=1, show_default=True, help="Attempt of that run.")
@click.option("--commit", required=True, metavar="SHA", help="The reviewed commit of the pull request.")
@click.option("--head-repository", required=True, metavar="OWNER/NAME", help="Repository of the pull request's branch.")
@click.option("--head-branch", required=True, metavar="BRANCH", help="The pull request's branch.")
@click.option("--url", metavar="URL", default="", help="Page of the workflow run, with the preview.")
@click.option(
    "--apply/--dry-run",
    "wanted",
    default=None,
    help="Write the comment, or only print it. Default: write it on the default branch, in no fork.",
)
@click.option("--repository", metavar="OWNER/NAME", help="Repository of the pull request. Default: GITHUB_REPOSITORY.")
@format_option
@folder_options("devices")
def answer(
    run_id: int,
    attempt: int,
    commit: str,
    head_repository: str,
    head_branch: str,
    url: str,
    wanted: bool | None,
    repository: str | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Comment the result of `ootci device review` on its pull request, or update the comment.

    The review is untrusted data. The pull request is looked up on GitHub: an open one from that branch, whose newest
    commit is the reviewed one. If it changes .github/, it could have forged the review, so the comment only links to
    the run.

    The comment mentions the maintainers in this checkout's device files, and for a new device the pull request's
    author. By default, it is only written on the default branch, and in no fork.
    """
    name = required_repository(repository)
    fork = named_repository(head_repository, "--head-repository")
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise BadOption("it is no full commit", where="--commit", fix="give its 40 hexadecimal digits")
    really, why = decided(wanted, name)
    rest = GithubRest(token_to_write(really, name, "comments"))
    pulls, reviewed = GithubPulls(rest, name), Reviewed(name, run_id, attempt, fork, head_branch, commit, url)
    lines = [f"{'writing to' if really else 'dry run, nothing is written to'} {name}: {why}"]
    comments: dict[int, str] = {}
    for number, body in answers(reviewed, pulls, rest, folders):
        comments[number] = body
        if really:
            lines.append(f"#{number}: the comment is {pulls.answer(number, MARKER, body)}")
        else:
            lines += [f"#{number}: would say:", *(f"  {one_line(line)}".rstrip() for line in body.splitlines())]
    if not comments:
        lines.append("no open pull request is at this commit any more, so nobody waits for an answer")
    show({"written": really, "repository": name, "comments": comments}, output_format, "\n".join(lines))
