"""PyTorch's relay, and GitHub's service that gives out tokens, as a server on loopback plays them.

The relay keeps the order of reports as PyTorch's does: of a delivery that it made, ``in_progress`` and then
``completed`` of each run, attempt and job, each once. What it is to do wrong is in a list, one entry a report.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import Quiet, Server, running

AUDIENCE = "pytorch-cross-repo-ci-relay"
PERMIT = "the.permit.that-GitHub-gives-a-job"
TOKEN = f"a.token.made-out-to.{AUDIENCE}"
SECRETS = (PERMIT, TOKEN)
FIELDS = frozenset(
    (
        *("schema_version", "status", "conclusion", "name", "url", "job_name", "check_run_id", "run_id", "run_attempt"),
        *("started_at", "completed_at", "test_results", "artifact_url"),
    )
)
"""What a report says of a workflow: nothing may rest on a field that the relay does not show."""

Answer = tuple[int, dict[str, Any]]


@dataclass(frozen=True)
class Trouble:
    """What goes wrong with one report, once.

    Attributes:
        status: answer with it; 0 to cut the connection.
        headers: of the answer.
        after: whether the report is taken before that happens.
        hangs: whether nothing is said until the server is closed.

    """

    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    after: bool = False
    hangs: bool = False


@dataclass
class State:
    """What the relay knows and has to do.

    Attributes:
        deliveries: those that it made.
        level: of the repository that reports; below 2 its reports are ignored.
        troubles: what goes wrong with the next reports.
        token_troubles: what goes wrong when the next tokens are asked for.
        known: whether the repository is known at all.
        taken: the reports that were taken.
        asked: how many requests there were to the relay.
        states: of each delivery's run, attempt and job, the status that was reported last.

    """

    deliveries: set[str] = field(default_factory=set)
    level: int = 2
    troubles: list[Trouble] = field(default_factory=list)
    token_troubles: list[Trouble] = field(default_factory=list)
    known: bool = True
    taken: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0
    states: dict[tuple[str, ...], str] = field(default_factory=dict)

    def take(self, body: dict[str, Any]) -> Answer:
        """Take a report, or say why not."""
        if self.level < 2:
            return 200, {"ok": True, "status": "ignored"}
        try:
            event, delivery, work = body["event_type"], body["delivery_id"], body["workflow"]
            status, _ = work["status"], work["name"]
            key = (delivery, str(int(work["run_id"])), str(int(work["run_attempt"])), work["job_name"])
        except (KeyError, TypeError, ValueError) as error:
            return 400, {"detail": f"callback body missing required field: {error}"}
        if more := sorted(work.keys() - FIELDS):
            return 400, {"detail": f"callback body has unknown fields: {', '.join(more)}"}
        if event == "nightly":
            if status != "completed":
                return 400, {"detail": "nightly callbacks must have status 'completed'"}
        elif delivery not in self.deliveries:
            return 400, {"detail": "callback rejected: no matching dispatch record"}
        elif (self.states.get(key), status) not in ((None, "in_progress"), ("in_progress", "completed")):
            return 400, {"detail": f"callback rejected: invalid state transition delivery_id={delivery}"}
        self.states[key] = status
        self.taken.append(body)
        return 200, {"ok": True, "status": status}


class RelayServer(Server):
    """The server; ``state`` can be looked at and changed while it runs."""

    def __init__(self) -> None:
        super().__init__(_Handler)
        self.state, self.over = State(), threading.Event()

    @property
    def url(self) -> str:
        """Where reports go."""
        return f"{super().url}/github/callback"

    @property
    def token_variables(self) -> dict[str, str]:
        """What GitHub gives to a job with ``id-token: write``."""
        return {
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{super().url}/token?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": PERMIT,
        }


class _Handler(Quiet):
    server: RelayServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        state = self.server.state
        if state.token_troubles:
            self._fail(state.token_troubles.pop(0))
        elif parts.path != "/token" or query.get("api-version") != ["2.0"] or query.get("audience") != [AUDIENCE]:
            self._say(404, {"message": "not found"})
        elif self.headers["Authorization"] != f"Bearer {PERMIT}":
            self._say(401, {"message": "no permit"})
        else:
            self._say(200, {"count": 1, "value": TOKEN})

    def do_POST(self) -> None:
        state = self.server.state
        state.asked += 1
        text = self.rfile.read(int(self.headers["Content-Length"]))
        trouble = state.troubles.pop(0) if state.troubles else None
        if trouble is not None and not trouble.after:
            self._fail(trouble)
            return
        answer = self._taken(text)
        if trouble is None:
            self._say(*answer)
        else:
            self._fail(trouble)

    def _taken(self, text: bytes) -> Answer:
        if urlsplit(self.path).path != "/github/callback":
            return 404, {"detail": "Not found"}
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return 401, {"detail": "Invalid authorization token"}
        if not self.server.state.known:
            return 403, {"detail": "the pipeline is not registered"}
        try:
            body = json.loads(text)
        except ValueError:
            return 400, {"detail": "Invalid JSON body"}
        return self.server.state.take(body)

    def _fail(self, trouble: Trouble) -> None:
        if trouble.hangs:
            self.server.over.wait()
        elif trouble.status:
            self._say(trouble.status, {"detail": "just so"}, trouble.headers)
        else:
            self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def _say(self, status: int, body: object, headers: Sequence[tuple[str, str]] = ()) -> None:
        self.answer(status, json.dumps(body).encode(), {**dict(headers), "Content-Type": "application/json"})


@contextlib.contextmanager
def relay_server() -> Iterator[RelayServer]:
    """A relay that has delivered nothing yet."""
    with running(RelayServer()) as server:
        try:
            yield server
        finally:
            server.over.set()
