"""The relay over HTTP: its answers, its order, its troubles, and the token that only it may see."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from relay_server import SECRETS, RelayServer, Trouble, relay_server

from ootci.adapters import crcr
from ootci.adapters.crcr import Relay
from ootci.errors import BadOption, OotciError, RelayRefused, RelayUnreachable

ANOTHER = {"OOTCI_RELAY_TOKEN": "another"}
ANOTHER_PERMIT = {"ACTIONS_ID_TOKEN_REQUEST_TOKEN": "another"}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[RelayServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(crcr, "TIMEOUT_SECONDS", (5.0, 0.2))
    with relay_server() as found:
        found.state.deliveries.add("d1")
        yield found


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waited: list[float] = []

    def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.now += seconds

    def relay(self, server: RelayServer, patience: float = 120, **variables: str) -> Relay:
        given = {**server.token_variables, **variables}
        return Relay(server.url, patience, given, wait=self.wait, clock=lambda: self.now, chance=lambda: 0.5)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def body(status: str = "in_progress", **work: Any) -> bytes:
    given = {"status": status, "name": "w", "run_id": "7", "run_attempt": "1", "job_name": "dev", **work}
    kept = {name: value for name, value in given.items() if value is not None}
    return json.dumps({"event_type": "pull_request", "delivery_id": "d1", "workflow": kept}).encode()


def refused(relay: Relay, text: bytes) -> str:
    with pytest.raises(RelayRefused) as caught:
        relay.report(text)
    assert caught.value.fix
    return caught.value.what


def test_a_run_is_reported_in_two_steps_with_a_token_that_is_asked_for_once(server: RelayServer, clock: Clock) -> None:
    relay = clock.relay(server)
    assert relay.report(body()) == "the relay answered: in_progress"
    server.state.token_troubles.append(Trouble(500))
    assert relay.report(body("completed")) == "the relay answered: completed"
    assert [item["workflow"]["status"] for item in server.state.taken] == ["in_progress", "completed"]
    assert clock.waited == []


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ((), body("completed")),
        ((body(),), body()),
        ((body(), body("completed")), body("completed")),
        ((body(), body("completed")), body()),
        ((), body(name=None)),
        ((), body(run_id="x")),
        ((), b'{"event_type": "pull_request", "delivery_id": "another", "workflow": {}}'),
        ((), b'{"event_type": "nightly", "delivery_id": "d1"}'),
        ((), b"{"),
        ((), b""),
    ],
)
def test_what_is_out_of_order_or_incomplete_is_refused_and_not_tried_again(
    server: RelayServer, clock: Clock, before: tuple[bytes, ...], text: bytes
) -> None:
    relay = clock.relay(server)
    for earlier in before:
        relay.report(earlier)
    asked = server.state.asked
    assert refused(relay, text).startswith("the relay answered 400: ")
    assert (server.state.asked, clock.waited) == (asked + 1, [])


def test_the_published_address_ends_with_a_slash_that_is_not_posted_to(server: RelayServer) -> None:
    relay = Relay(f"{server.url}/", 5, server.token_variables)
    assert relay.report(body()) == "the relay answered: in_progress"


def test_who_is_not_known_is_told_what_to_ask_for(server: RelayServer, clock: Clock) -> None:
    assert "401: Invalid authorization token" in refused(clock.relay(server, **ANOTHER), body())
    server.state.known = False
    with pytest.raises(RelayRefused, match="403: the pipeline is not registered") as caught:
        clock.relay(server).report(body())
    assert "allow list" in caught.value.fix
    server.state.known, server.state.level = True, 1
    assert refused(clock.relay(server), body()) == "the relay takes no reports of this repository"
    assert clock.waited == []


@pytest.mark.parametrize("status", [302, 404, 405, 413])
def test_any_other_refusal_asks_to_look_at_the_address(server: RelayServer, clock: Clock, status: int) -> None:
    server.state.troubles.append(Trouble(status, (("Location", "http://127.0.0.1:9/"),)))
    with pytest.raises(RelayRefused, match=f"answered {status}: just so") as caught:
        clock.relay(server).report(body())
    page = "the variable OOTCI_RELAY_URL on the page Settings > Secrets and variables > Actions"
    assert (caught.value.fix, server.state.asked) == (f"check the relay's address: {page}, or --relay", 1)


@pytest.mark.parametrize("trouble", [Trouble(429), Trouble(500), Trouble(503), Trouble(), Trouble(hangs=True)])
def test_what_passes_is_tried_again_later_and_later(server: RelayServer, clock: Clock, trouble: Trouble) -> None:
    server.state.troubles += [trouble] * 3
    assert clock.relay(server).report(body()) == "the relay answered: in_progress"
    assert (server.state.asked, len(server.state.taken)) == (4, 1)
    assert clock.waited == sorted(clock.waited)
    assert clock.waited[0] >= 1 < clock.waited[-1]


def test_the_relay_says_how_long_to_wait(server: RelayServer, clock: Clock) -> None:
    server.state.troubles.append(Trouble(429, (("Retry-After", "20"),)))
    assert clock.relay(server).report(body()) == "the relay answered: in_progress"
    assert clock.waited[0] >= 20


@pytest.mark.parametrize("later", ["-5", "1e9", "soon", "", "9" * 500, "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_wait_that_nobody_understands_is_the_usual_one(server: RelayServer, clock: Clock, later: str) -> None:
    server.state.troubles.append(Trouble(429, (("Retry-After", later),)))
    clock.relay(server).report(body())
    assert clock.waited == [1.0]


def test_whoever_is_to_wait_longer_than_the_patience_gives_up_at_once(server: RelayServer, clock: Clock) -> None:
    server.state.troubles += [Trouble(429, (("Retry-After", "600"),))] * 2
    with pytest.raises(RelayUnreachable, match=r"no answer that counts: it answered 429 \(asked once\)"):
        clock.relay(server, patience=300).report(body())
    assert clock.waited == []


def test_the_patience_is_one_for_all_reports(server: RelayServer, clock: Clock) -> None:
    server.state.troubles += [Trouble(503)] * 100
    relay = clock.relay(server, patience=60)
    with pytest.raises(RelayUnreachable, match="it answered 503"):
        relay.report(body())
    assert clock.now <= 60
    clock.now = 60
    asked = server.state.asked
    with pytest.raises(RelayUnreachable, match="there was no time left to ask"):
        relay.report(body(job_name="two"))
    assert server.state.asked == asked


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x", "https://relay.invalid/x"])
def test_a_relay_that_nobody_runs_is_given_up(
    clock: Clock, server: RelayServer, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    server.state.troubles.append(Trouble(503))
    relay = Relay(address, 5, {"OOTCI_RELAY_TOKEN": "t"}, wait=clock.wait, clock=lambda: clock.now)
    with pytest.raises(RelayUnreachable, match="nobody is there") as caught:
        relay.report(body())
    assert "the variable OOTCI_RELAY_URL on the page Settings" in caught.value.fix
    assert len(clock.waited) > 1


@pytest.mark.parametrize("trouble", [Trouble(after=True), Trouble(502, after=True), Trouble(hangs=True, after=True)])
def test_a_report_whose_answer_was_lost_is_taken_although_the_next_try_is_refused(
    server: RelayServer, clock: Clock, trouble: Trouble
) -> None:
    server.state.troubles.append(trouble)
    assert "the relay has it, most likely" in clock.relay(server).report(body())
    assert len(server.state.taken) == 1


def test_too_many_requests_are_no_doubt_that_a_report_was_taken(server: RelayServer, clock: Clock) -> None:
    server.state.troubles.append(Trouble(429, after=True))
    assert "answered 400" in refused(clock.relay(server), body())


@pytest.mark.parametrize("trouble", [Trouble(500), Trouble(), Trouble(hangs=True)])
def test_the_token_is_asked_for_again_too(server: RelayServer, clock: Clock, trouble: Trouble) -> None:
    server.state.token_troubles += [trouble, trouble]
    assert clock.relay(server).report(body()) == "the relay answered: in_progress"


def test_without_a_permit_there_is_no_token(server: RelayServer, clock: Clock) -> None:
    assert "there is no token" in refused(clock.relay(server, ACTIONS_ID_TOKEN_REQUEST_URL=""), body())
    assert "there is no token" in refused(clock.relay(server, ACTIONS_ID_TOKEN_REQUEST_TOKEN=""), body())
    wrong = clock.relay(server, **ANOTHER_PERMIT)
    assert refused(wrong, body()) == "GitHub gives out no token (it answered 401)"
    assert server.state.asked == 0


@pytest.mark.parametrize("token", ["a\nb", "a b", "tök", "x" * 20_001])
def test_what_is_no_token_is_neither_sent_nor_shown(server: RelayServer, clock: Clock, token: str) -> None:
    what = refused(clock.relay(server, OOTCI_RELAY_TOKEN=token), body())
    assert (what, server.state.asked) == ("what should be a token is none", 0)


@pytest.mark.parametrize(
    "url", ["", "relay", "http://relay.example.org/x", "ftp://127.0.0.1/x", "http://127.0.0.1.example.org", "http://[x"]
)
def test_a_token_goes_to_no_address_that_others_could_listen_to(url: str) -> None:
    with pytest.raises(BadOption, match="https addresses only") as caught:
        Relay(url, 1, {})
    assert "the variable OOTCI_RELAY_URL on the page Settings > Secrets and variables > Actions" in caught.value.where
    relay = Relay("https://relay.invalid/", 1, {**ANOTHER_PERMIT, "ACTIONS_ID_TOKEN_REQUEST_URL": url})
    with pytest.raises((BadOption, RelayRefused)):
        relay.report(body())


def test_the_machine_s_own_passwords_do_not_take_the_token_s_place(
    server: RelayServer, clock: Clock, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n", encoding="utf-8")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    assert requests.utils.get_netrc_auth(server.url) == ("a", "b")
    assert clock.relay(server).report(body()) == "the relay answered: in_progress"


@pytest.mark.parametrize("detail", ["::error::x\n::error::y\x1b[31m", "x" * 10_000, 5, None])
def test_what_a_relay_says_is_shown_as_text(
    server: RelayServer, clock: Clock, detail: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.state, "take", lambda _: (400, {"detail": detail}))
    what = refused(clock.relay(server), body())
    assert what.isprintable()
    assert len(what) < 300


@pytest.mark.parametrize("trouble", [Trouble(401), Trouble(500), Trouble(), Trouble(hangs=True)])
def test_no_error_holds_a_secret(server: RelayServer, clock: Clock, trouble: Trouble) -> None:
    server.state.troubles += [trouble] * 50
    with pytest.raises(OotciError) as caught:
        clock.relay(server, patience=10).report(body())
    assert not any(secret in str(caught.value) for secret in SECRETS)
