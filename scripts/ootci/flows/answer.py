"""The answer to a pull request to the registry: the result of its review, as one comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from ootci.adapters.github_artifacts import ArtifactProblem, Limits, artifact_file, artifacts
from ootci.adapters.github_pulls import GithubPulls, Pull
from ootci.adapters.github_rest import GithubRest
from ootci.errors import InputError, OotciError
from ootci.flows.context import Folders
from ootci.model.record import parse
from ootci.model.review import Review
from ootci.stages.render import review_answer

MARKER = "<!-- ootci-device-file -->"
"""Identifies our comment."""
ARTIFACT = "device-file-review"
LIMITS = Limits(content=256 * 1024)
MOST_MENTIONED = 10
_WORKFLOWS = ".github/"


@dataclass(frozen=True)
class Reviewed:
    """The workflow run that reviewed a pull request, as GitHub and not the run itself reports it.

    Attributes:
        repository: whose pull request it is.
        fork: the repository that the pull request comes from.

    """

    repository: str
    run: int
    attempt: int
    fork: str
    branch: str
    commit: str
    url: str

    @property
    def link(self) -> str:
        """Its page, in markdown."""
        return f"[this run]({self.url})" if re.fullmatch(r"https?://[\w.:-]+/[\w./-]+", self.url) else f"run {self.run}"


def answers(reviewed: Reviewed, pulls: GithubPulls, rest: GithubRest, folders: Folders) -> Iterator[tuple[int, str]]:
    """The comment for each open pull request whose head is the reviewed commit, by its number."""
    for pull in pulls.at(reviewed.fork, reviewed.branch, reviewed.commit):
        if any(path.startswith(_WORKFLOWS) for path in pulls.files(pull.number)):
            text = f"The pull request changes {_WORKFLOWS}, so what its checks say is not repeated here"
            yield pull.number, _not_checked(text, reviewed)
        else:
            yield pull.number, _body(pull, reviewed, rest, folders)


def _body(pull: Pull, reviewed: Reviewed, rest: GithubRest, folders: Folders) -> str:
    name = f"{ARTIFACT}-{reviewed.attempt}"
    try:
        found = (
            one for one in artifacts(rest, reviewed.repository, reviewed.run, name) if one.commit == reviewed.commit
        )
        artifact = next(found, None)
        if artifact is None:
            raise ArtifactProblem(f"the run left no artifact {name}")
        content = artifact_file(rest, artifact, Review.FILE, LIMITS)
        review = parse(Review, content, where=name)
    except ArtifactProblem as problem:
        return _not_checked(f"The device files could not be checked: {problem}", reviewed)
    except InputError as error:
        text = f"The device files could not be checked: the review cannot be read ({error.id})"
        return _not_checked(text, reviewed)
    foot = [f"Previews of the pages and the whole review are artifacts of {reviewed.link}, for {reviewed.commit[:12]}."]
    return review_answer(review, _mentions(review, pull, folders), foot, MARKER)


def _not_checked(text: str, reviewed: Reviewed) -> str:
    return f"{MARKER}\n### Device files: not checked\n\n{text}. See {reviewed.link}.\n"


def _mentions(review: Review, pull: Pull, folders: Folders) -> dict[str, tuple[str, ...]]:
    """The handles to mention for each file, never from the proposed file itself."""
    try:
        ours = {item.device.name: item.device.maintainers for item in folders.registry()}
    except OotciError:
        ours = {}
    author = (f"@{pull.author}",) if re.fullmatch(r"[A-Za-z0-9-]{1,39}", pull.author) else ()
    return {file.path: ours.get(PurePosixPath(file.path).stem, author)[:MOST_MENTIONED] for file in review.files}
