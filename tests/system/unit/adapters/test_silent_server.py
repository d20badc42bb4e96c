"""Servers that take a connection and say nothing, or one byte at a time: every call ends by itself, with an error."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ootci.adapters import crcr, download, git, github_rest, process, remote_git
from ootci.adapters.crcr import Relay
from ootci.adapters.download import LinkUnclear, leads_somewhere
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.remote_git import RemoteGit
from ootci.errors import GithubUnreachable, HistoryUnreachable, PyTorchUnreachable, RelayUnreachable

TRICKLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"


@pytest.fixture(params=["silent", "trickling"])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """Its address."""
    over = threading.Event()

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(1 << 16)
            if request.param == "trickling":
                connection.sendall(TRICKLE)
            while not over.wait(0.05):
                if request.param == "trickling":
                    connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        over.set()
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every limit is a part of a second; nothing takes longer than some of them."""
    for module in (crcr, github_rest):
        monkeypatch.setattr(module, "TIMEOUT_SECONDS", (0.3, 0.3))
    monkeypatch.setattr(download, "LINK_TIMEOUT_SECONDS", (0.3, 0.3))
    monkeypatch.setattr(github_rest, "ANSWER_SECONDS", 0.3)
    for module in (git, remote_git):
        monkeypatch.setattr(module, "TIMEOUT_SECONDS", 0.5)
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 20


def test_github_is_given_up(server: str) -> None:
    rest = GithubRest(None, server, wait=lambda _: None)
    with pytest.raises(GithubUnreachable, match="GitHub did not answer"):
        list(rest.pages("/repos/a/b/issues", {}))


def test_the_relay_is_given_up(server: str, request: pytest.FixtureRequest) -> None:
    """One that trickles has answered, of which the beginning is enough."""
    relay = Relay(f"{server}/report", 0.5, {"OOTCI_RELAY_TOKEN": "x"})
    if "trickling" in request.node.name:
        assert relay.report(b"{}") == "the relay answered: taken"
    else:
        with pytest.raises(RelayUnreachable):
            relay.report(b"{}")


def test_a_link_that_does_not_answer_is_unclear_or_there(server: str, request: pytest.FixtureRequest) -> None:
    """Of an answer only the first lines are read."""
    if "trickling" in request.node.name:
        assert leads_somewhere(server)
    else:
        with pytest.raises(LinkUnclear):
            leads_somewhere(server)


def test_a_history_s_remote_is_given_up(server: str, tmp_path: Path) -> None:
    remote = RemoteGit(tmp_path, f"{server}/x.git", "data")
    remote.prepare([])
    with pytest.raises(HistoryUnreachable, match="no answer within"):
        remote.fetch_tip()


def test_pytorch_s_repository_is_given_up(server: str) -> None:
    with pytest.raises(PyTorchUnreachable, match="no answer within"):
        git.refs_of(f"{server}/x.git", "refs/heads/main")


def test_a_plugin_s_repository_is_given_up(server: str, tmp_path: Path) -> None:
    _, command, *_ = git.clone_commands(f"{server}/x.git", "main", submodules=False)
    (tmp_path / "here").mkdir()
    process.ask(["git", "init", "--quiet", "."], cwd=tmp_path / "here")
    done = process.run(command, cwd=tmp_path / "here", env=os.environ, log_file=tmp_path / "log", timeout=0.5)
    assert (done.ok, done.timed_out) == (False, True)
