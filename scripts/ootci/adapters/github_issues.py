"""The issues of a repository on GitHub that we opened: finding, creating and changing them."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ootci.adapters.github_rest import GithubRest, odd
from ootci.errors import GithubRefused

ACTIONS_BOT = "github-actions[bot]"
"""The login that a workflow's token acts as."""


@dataclass(frozen=True)
class Issue:
    """An issue; its text has line ends as we write them, and comments on it may be locked."""

    number: int
    title: str
    body: str
    is_open: bool = True
    locked: bool = False
    author: str = ACTIONS_BOT


class GithubIssues:
    """The issues of one repository that carry a label and that we made ourselves.

    Anybody can copy our text into an issue, so only issues with our login as their author count.

    Args:
        repository: ``owner/name``.
        author: our login.

    Raises:
        GithubUnreachable, GithubRefused: from every method, see the client.

    """

    def __init__(self, rest: GithubRest, repository: str, label: str, author: str = ACTIONS_BOT) -> None:
        self._rest = rest
        self._path = f"/repos/{quote(repository)}/issues"
        self._label = label
        self._author = author

    def own(self) -> tuple[Issue, ...]:
        """Our issues, closed ones too, oldest first."""
        wanted = {"labels": self._label, "state": "all", "sort": "created", "direction": "asc"}
        found = [_issue(item, self._path) for item in self._rest.pages(self._path, wanted) if not _is_pull(item)]
        return tuple(sorted((issue for issue in found if issue.author == self._author), key=lambda one: one.number))

    def create(self, title: str, body: str, labels: tuple[str, ...]) -> Issue:
        """Make an issue with the label and further ones.

        Raises:
            GithubRefused: also where the token is not that of the author whose issues are looked for: it would be made
                again on every night.

        """
        made = _issue(
            self._rest.change("POST", self._path, {"title": title, "body": body, "labels": [self._label, *labels]}),
            self._path,
        )
        if made.author != self._author:
            self.change(made.number, state="closed", state_reason="not_planned")
            raise GithubRefused(
                f"the token makes issues in the name of {made.author}, and those of {self._author} are looked for",
                where=f"#{made.number}",
                fix=f"name whose they are: --author '{made.author}'",
            )
        return made

    def change(self, number: int, **fields: str) -> None:
        """Change an issue's ``title``, ``body``, or ``state`` with its ``state_reason``."""
        self._rest.change("PATCH", f"{self._path}/{number}", fields)

    def comment(self, number: int, body: str) -> None:
        """Comment on an issue."""
        self._rest.change("POST", f"{self._path}/{number}/comments", {"body": body})


def _is_pull(item: object) -> bool:
    """GitHub lists pull requests among the issues."""
    return isinstance(item, dict) and "pull_request" in item


def _issue(item: object, place: str) -> Issue:
    try:
        if not isinstance(item, dict):
            raise TypeError("no object")
        user = item["user"]
        return Issue(
            number=int(item["number"]),
            title=str(item["title"]),
            body=str(item["body"] or "").replace("\r\n", "\n"),
            is_open=item["state"] == "open",
            locked=item.get("locked") is True,
            # A deleted account has no login.
            author=str(user["login"]) if user else "",
        )
    except (KeyError, TypeError, ValueError) as error:
        raise odd(place, "it is no issue") from error
