"""GitHub's API of pull requests and their comments, beside that of workflow runs, as a server on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from fake_actions import TOP, ActionsHandler, FakeActions
from fake_github import BOT
from loopback import running


@dataclass
class FakePull:
    """An open pull request.

    Attributes:
        number: its number.
        repository: where it comes from.
        branch: the branch that it comes from.
        sha: its newest commit.
        files: paths that it changes.
        author: who opened it.
        comments: what was said under it, as GitHub has it.

    """

    number: int
    repository: str
    branch: str
    sha: str
    files: list[str] = field(default_factory=list)
    author: str = "newcomer"
    comments: list[dict[str, object]] = field(default_factory=list)

    def say(self, body: str, login: str = BOT) -> None:
        """Comment on it."""
        self.comments.append({"id": 100 * self.number + len(self.comments), "body": body, "user": {"login": login}})

    @property
    def said(self) -> list[str]:
        """What was said, in order."""
        return [str(item["body"]) for item in self.comments]


class FakePulls(FakeActions):
    """The server.

    Attributes:
        pulls: the open pull requests.

    """

    def __init__(self) -> None:
        super().__init__(_PullsHandler)
        self.pulls: list[FakePull] = []


class _PullsHandler(ActionsHandler):
    server: FakePulls

    def list(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        words = parts.path.removeprefix(f"{TOP}/").split("/")
        if parts.path == f"{TOP}/pulls":
            heads = [pull for pull in self.server.pulls if query["head"] == f"{_owner(pull)}:{pull.branch}"]
            self.say(200, [_shown(pull) for pull in heads])
        elif words[0] == "pulls" and words[2:] == ["files"]:
            self.say(200, [{"filename": name} for name in self._pull(words[1]).files])
        elif words[0] == "issues" and words[2:] == ["comments"]:
            self.say(200, self._pull(words[1]).comments)
        else:
            super().list()

    def post(self) -> None:
        words = self.path.removeprefix(f"{TOP}/").split("/")
        if words[0] == "issues" and words[2:] == ["comments"]:
            self._pull(words[1]).say(self.given["body"])
            self.say(201, {})
        else:
            super().post()

    def patch(self) -> None:
        words = self.path.removeprefix(f"{TOP}/").split("/")
        if words[:2] != ["issues", "comments"]:
            super().patch()
            return
        (comment,) = (item for pull in self.server.pulls for item in pull.comments if item["id"] == int(words[2]))
        comment["body"] = self.given["body"]
        self.say(200, comment)

    def _pull(self, number: str) -> FakePull:
        (found,) = (pull for pull in self.server.pulls if pull.number == int(number))
        return found


def _owner(pull: FakePull) -> str:
    return pull.repository.partition("/")[0]


def _shown(pull: FakePull) -> dict[str, object]:
    head = {"sha": pull.sha, "ref": pull.branch, "repo": {"full_name": pull.repository}}
    return {"number": pull.number, "user": {"login": pull.author}, "head": head}


@contextmanager
def fake_pulls() -> Iterator[FakePulls]:
    """Run the server on a free port."""
    with running(FakePulls()) as server:
        yield server
