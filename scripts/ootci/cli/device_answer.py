"""``ootci device answer``: what came of the review of a pull request, as one comment under it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

import click

from ootci.adapters.github_artifacts import ArtifactProblem, artifact_file
from ootci.adapters.github_pulls import GithubPulls, Pull
from ootci.adapters.github_rest import GithubRest
from ootci.cli.context import Folders, folder_options, format_option
from ootci.cli.home import decided, named_repository, token_to_write
from ootci.cli.report import one_line, told
from ootci.errors import BadOption, InputError, OotciError
from ootci.model.record import parse
from ootci.model.review import Review
from ootci.stages.render import review_answer

MARKER = "<!-- ootci-device-file -->"
"""By which our comment is found again."""
ARTIFACT = "device-file-review"
MAX_REVIEW_BYTES = 256 * 1024
MOST_MENTIONED = 10
_WORKFLOWS = ".github/"


@click.command(short_help="Comment on a pull request what came of its review.")
@click.option(
    "--run", "run_id", type=click.IntRange(1), required=True, help="Number of the workflow run that reviewed it."
)
@click.option("--attempt", type=click.IntRange(1), default=1, show_default=True, help="Its attempt.")
@click.option("--commit", required=True, metavar="SHA", help="The commit of the pull request that the run was for.")
@click.option("--head-repository", required=True, metavar="OWNER/NAME", help="Where the pull request comes from.")
@click.option("--head-branch", required=True, metavar="BRANCH", help="The branch that it comes from.")
@click.option("--url", metavar="URL", default="", help="Page of the workflow run, where the preview is.")
@click.option(
    "--apply/--dry-run",
    "wanted",
    default=None,
    help="Write the comment, or only print it. Default: write it on the main branch of the home repository.",
)
@click.option("--repository", metavar="OWNER/NAME", help="Whose pull request; GITHUB_REPOSITORY when absent.")
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
    """Write what `ootci device review` found into one comment, which is rewritten by every run.

    Whoever opened the pull request decides what its run leaves behind: it is taken for data, within limits. Which pull
    request is meant is asked of GitHub: an open one from that branch whose newest commit is the one that was reviewed.
    One that changes .github/ could have made up the review, so its comment says only where to look.

    Mentioned are the maintainers whom this checkout's device files name, and of a new device who opened the pull
    request. Nothing is written outside the main branch of the home repository (OOTCI_HOME), unless --apply is given.
    """
    name = named_repository(repository)
    fork = named_repository(head_repository, "--head-repository")
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise BadOption("it is no full commit", where="--commit", fix="give its 40 hexadecimal digits")
    if not name:
        raise BadOption("no repository is named", where="--repository", fix="name one: --repository owner/name")
    really, why = decided(wanted, name)
    rest = GithubRest(token_to_write(really, name, "comments"))
    pulls, reviewed = GithubPulls(rest, name), _Reviewed(name, run_id, f"{ARTIFACT}-{attempt}", commit, url)
    lines = [f"{'writing to' if really else 'dry run, nothing is written to'} {name}: {why}"]
    comments: dict[int, str] = {}
    for pull in pulls.at(fork, head_branch, commit):
        if any(path.startswith(_WORKFLOWS) for path in pulls.files(pull.number)):
            body = _short(
                f"The pull request changes {_WORKFLOWS}, so what its checks say is not repeated here", reviewed
            )
        else:
            body = _body(pull, reviewed, rest, folders)
        comments[pull.number] = body
        if really:
            lines.append(f"#{pull.number}: the comment is {pulls.answer(pull.number, MARKER, body)}")
        else:
            lines += [f"#{pull.number}: would say:", *(f"  {one_line(line)}".rstrip() for line in body.splitlines())]
    if not comments:
        lines.append("no open pull request stands at this commit any more, so nobody waits for an answer")
    facts = {"written": really, "repository": name, "comments": comments}
    click.echo(told("", facts, output_format) if output_format == "json" else "\n".join(lines))


@dataclass(frozen=True)
class _Reviewed:
    """The workflow run that reviewed a pull request, as GitHub and not the run itself says."""

    repository: str
    run: int
    artifact: str
    commit: str
    url: str

    @property
    def link(self) -> str:
        """Its page, in markdown."""
        return f"[this run]({self.url})" if re.fullmatch(r"https?://[\w.:-]+/[\w./-]+", self.url) else f"run {self.run}"


def _body(pull: Pull, reviewed: _Reviewed, rest: GithubRest, folders: Folders) -> str:
    try:
        content = artifact_file(
            rest,
            reviewed.repository,
            reviewed.run,
            artifact=reviewed.artifact,
            name=Review.FILE,
            commit=reviewed.commit,
            at_most=MAX_REVIEW_BYTES,
        )
    except ArtifactProblem as problem:
        return _short(f"The device files could not be checked: {problem}", reviewed)
    try:
        review = parse(Review, content, where=reviewed.artifact)
    except InputError as error:
        return _short(f"The device files could not be checked: the review cannot be read ({error.id})", reviewed)
    foot = [f"Previews of the pages and the whole review are artifacts of {reviewed.link}, for {reviewed.commit[:12]}."]
    return review_answer(review, _mentions(review, pull, folders), foot, MARKER)


def _short(text: str, reviewed: _Reviewed) -> str:
    return f"{MARKER}\n### Device files: not checked\n\n{text}. See {reviewed.link}.\n"


def _mentions(review: Review, pull: Pull, folders: Folders) -> dict[str, tuple[str, ...]]:
    """Whom to mention for each file: nobody only because a stranger's file names them."""
    try:
        ours = {item.device.name: item.device.maintainers for item in folders.registry()}
    except OotciError:
        ours = {}
    author = (f"@{pull.author}",) if re.fullmatch(r"[A-Za-z0-9-]{1,39}", pull.author) else ()
    return {file.path: ours.get(PurePosixPath(file.path).stem, author)[:MOST_MENTIONED] for file in review.files}
