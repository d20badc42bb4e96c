"""Pull requests of a repository on GitHub: finding one by its head commit, its files, and our comment on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from ootci.adapters.github_issues import ACTIONS_BOT
from ootci.adapters.github_rest import GithubRest, odd


@dataclass(frozen=True)
class Pull:
    """A pull request, and the login of its author; empty for a deleted account."""

    number: int
    author: str


class GithubPulls:
    """The pull requests of one repository.

    Args:
        repository: ``owner/name``.

    Raises:
        GithubUnreachable, GithubRefused: from every method, see the client.

    """

    def __init__(self, rest: GithubRest, repository: str) -> None:
        self._rest = rest
        self._path = f"/repos/{quote(repository)}"

    def at(self, repository: str, branch: str, commit: str) -> tuple[Pull, ...]:
        """The open pull requests from a branch of a repository, often a fork, whose newest commit is that one."""
        wanted = {"state": "open", "head": f"{repository.partition('/')[0]}:{branch}"}
        found = []
        for item in self._rest.pages(f"{self._path}/pulls", wanted):
            head = _within(item, "head")
            if _within(head, "sha") == commit and _within(head, "repo", "full_name") == repository:
                found.append(Pull(_number(item), str(_within(item, "user", "login") or "")))
        return tuple(found)

    def files(self, number: int) -> Iterator[str]:
        """The paths that a pull request changes, those of before too where it renames."""
        for item in self._rest.pages(f"{self._path}/pulls/{number}/files", {}):
            for key in ("filename", "previous_filename"):
                if (name := _within(item, key)) is not None:
                    yield str(name)

    def answer(self, number: int, marker: str, body: str) -> str:
        """Create or update our comment with a marker; returns what was done."""
        comments = f"{self._path}/issues/{number}/comments"
        for item in self._rest.pages(comments, {}):
            text = str(_within(item, "body") or "").replace("\r\n", "\n")
            # Anybody can copy our text, so the author is checked, too.
            if _within(item, "user", "login") == ACTIONS_BOT and text.startswith(marker):
                if text.strip() == body.strip():
                    return "left as it is"
                self._rest.change("PATCH", f"{self._path}/issues/comments/{_number(item, 'id')}", {"body": body})
                return "rewritten"
        self._rest.change("POST", comments, {"body": body})
        return "written"


def _within(item: object, *keys: str) -> object:
    """A value within nested objects; None when it is missing, such as a deleted fork."""
    for key in keys:
        item = item.get(key) if isinstance(item, dict) else None
    return item


def _number(item: object, key: str = "number") -> int:
    found = _within(item, key)
    if not isinstance(found, int):
        raise odd("pull requests", f"it has no {key}")
    return found
