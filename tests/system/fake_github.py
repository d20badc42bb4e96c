"""GitHub's API of issues as a server on this machine plays it: it keeps issues, and has bad moments when told to."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlencode, urlsplit

from loopback import Quiet, Server, running

TOKEN = "a-token-that-nobody-may-see"  # noqa: S105 - it opens nothing
BOT = "github-actions[bot]"
REPOSITORY = "example/repository"
MAX_BODY = 65_536


@dataclass
class Moment:
    """A bad one: an answer that is given instead of the right one.

    Attributes:
        status: its status.
        headers: its headers.
        body: what it says.
        done: whether what was asked for was done all the same, and only the answer got lost.
        only: how the request begins that it waits for, ``METHOD path``; any, when empty.

    """

    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: str = '{"message": "a bad moment"}'
    done: bool = False
    only: str = ""


class FakeGithub(Server):
    """The server and all that it knows.

    Attributes:
        issues: every issue by number, as GitHub shows it, with its ``comments`` in a list.
        moments: bad moments to come, in order.
        asked: every request, ``METHOD path?query``.
        login: who the token speaks for.
        page: entries of a page, whatever is asked for.
        on_create: called when an issue was made and nobody knows of it yet.
        users: handles that somebody has.
        facts: what it says of the repository itself.

    """

    def __init__(self, handler: type[Handler] | None = None) -> None:
        super().__init__(handler or Handler)
        self.issues: dict[int, dict[str, object]] = {}
        self.moments: list[Moment] = []
        self.asked: list[str] = []
        self.login = BOT
        self.page = 100
        self.on_create: Callable[[], None] = lambda: None
        self.users = {"somebody"}
        self.facts: dict[str, object] = {"full_name": REPOSITORY, "fork": False, "default_branch": "main"}

    @property
    def environment(self) -> dict[str, str]:
        """What makes the tool take this for GitHub."""
        return {"OOTCI_GITHUB_API": self.url, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    @property
    def job(self) -> dict[str, str]:
        """The same, and what a job on the default branch has."""
        where = {"GITHUB_REPOSITORY": REPOSITORY, "GITHUB_REF": "refs/heads/main", "GITHUB_REF_NAME": "main"}
        return {**self.environment, **where, "GITHUB_ACTIONS": "true", "GITHUB_TOKEN": TOKEN}

    def add(self, title: str, body: str, labels: tuple[str, ...] = (), login: str = "", **more: object) -> int:
        """Make an issue as somebody, and give its number."""
        number = len(self.issues) + 1
        self.issues[number] = {
            "number": number,
            "title": title,
            "body": body,
            "labels": [{"name": name} for name in labels],
            "user": {"login": login or self.login},
            "state": "open",
            "state_reason": None,
            "locked": False,
            "comments": [],
            **more,
        }
        return number

    def comments(self, number: int) -> list[str]:
        found = self.issues[number]["comments"]
        assert isinstance(found, list)
        return found

    def states(self) -> dict[str, str]:
        """State of each issue by title."""
        return {str(issue["title"]): str(issue["state"]) for issue in self.issues.values()}

    def text(self) -> str:
        """Everything that it was given."""
        return json.dumps([*self.issues.values(), *self.asked])


class Handler(Quiet):
    """Answers as GitHub does."""

    server: FakeGithub

    def do_GET(self) -> None:
        self._meet("GET", self.list)

    def do_POST(self) -> None:
        self._meet("POST", self.post)

    def do_PATCH(self) -> None:
        self._meet("PATCH", self.patch)

    def _meet(self, method: str, right: Callable[[], None]) -> None:
        self.server.asked.append(f"{method} {self.path}")
        length = int(self.headers.get("Content-Length") or 0)
        self.given = json.loads(self.rfile.read(length)) if length else {}
        moments = self.server.moments
        if moments and f"{method} {self.path}".startswith(moments[0].only):
            moment = moments.pop(0)
            if moment.done:
                self.silent = True
                right()
            self.silent = False
            self.send(moment.status, moment.body, moment.headers)
            return
        self.silent = False
        if self.headers.get("Authorization") not in (
            (f"Bearer {TOKEN}", None) if method == "GET" else (f"Bearer {TOKEN}",)
        ):
            self.say(401, {"message": "Bad credentials"})
            return
        right()

    def list(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        if parts.path.startswith("/users/"):
            name = parts.path.removeprefix("/users/")
            self.say(*((200, {"login": name}) if name in self.server.users else (404, {"message": "Not Found"})))
            return
        if parts.path == f"/repos/{REPOSITORY}":
            self.say(200, self.server.facts)
            return
        if parts.path != f"/repos/{REPOSITORY}/issues":
            self.say(404, {"message": "Not Found"})
            return
        wanted = set(filter(None, query.get("labels", "").split(",")))
        state = query.get("state", "open")
        found = [
            {**issue, "comments": len(self.server.comments(number))}
            for number, issue in sorted(self.server.issues.items())
            if wanted <= {label["name"] for label in issue["labels"]} and state in ("all", issue["state"])  # type: ignore[attr-defined]
        ]
        self.paged(found)

    def post(self) -> None:
        comment = re.fullmatch(rf"/repos/{REPOSITORY}/issues/(\d+)/comments", self.path)
        if len(str(self.given["body"])) > MAX_BODY:
            self.say(422, {"message": "body is too long"})
        elif comment is None and self.path == f"/repos/{REPOSITORY}/issues":
            number = self.server.add(self.given["title"], self.given["body"], tuple(self.given["labels"]))
            self.server.on_create()
            self.say(201, self.server.issues[number])
        elif comment is None:
            self.say(404, {"message": "Not Found"})
        elif self.server.issues[int(comment[1])]["locked"]:
            self.say(403, {"message": "Unable to create comment because issue is locked."})
        else:
            self.server.comments(int(comment[1])).append(self.given["body"])
            self.say(201, {})

    def patch(self) -> None:
        number = int(self.path.rpartition("/")[2])
        issue = self.server.issues.get(number)
        if issue is None:
            self.say(410, {"message": "This issue was deleted"})
            return
        if len(str(self.given.get("body", ""))) > MAX_BODY:
            self.say(422, {"message": "body is too long"})
            return
        if self.given.get("state", issue["state"]) == issue["state"]:
            self.given.pop("state_reason", None)
        issue.update(self.given)
        self.say(200, issue)

    def paged(self, found: Sequence[object], key: str = "") -> None:
        """Answer with the page that is asked for; with a key, what is counted is below it."""
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        size, page = min(int(query.get("per_page", "30")), self.server.page), int(query.get("page", "1"))
        following = f"{self.server.url}{parts.path}?{urlencode({**query, 'page': page + 1})}"
        more = {"Link": f'<{following}>; rel="next"'} if len(found) > page * size else {}
        shown = found[(page - 1) * size : page * size]
        self.say(200, {"total_count": len(found), key: shown} if key else shown, more)

    def say(self, status: int, body: object, headers: dict[str, str] | None = None) -> None:
        if not self.silent:
            self.send(status, json.dumps(body), headers or {})

    def send(self, status: int, text: str, headers: dict[str, str]) -> None:
        self.answer(status, text.encode(), {"Content-Type": "application/json", **headers})


def fake_github() -> AbstractContextManager[FakeGithub]:
    """Run the server on a free port."""
    return running(FakeGithub())
