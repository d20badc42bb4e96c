"""HTTP servers on a free port of loopback."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar


class Server(ThreadingHTTPServer):
    """A server; its threads do not keep a test from ending."""

    daemon_threads = True

    def __init__(self, handler: Any) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    @property
    def url(self) -> str:
        """Its address, without a slash at the end."""
        return f"http://127.0.0.1:{self.server_port}"


class Quiet(BaseHTTPRequestHandler):
    """A handler that lists no requests."""

    def log_message(self, *_: object) -> None:
        """List nothing: the tests' output is theirs."""

    def answer(self, status: int, content: bytes = b"", headers: Mapping[str, str] | None = None) -> None:
        """Send a whole answer."""
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class Files(Quiet, SimpleHTTPRequestHandler):
    """Serves the files of a folder."""


S = TypeVar("S", bound=Server)


@contextlib.contextmanager
def running(made: S) -> Iterator[S]:
    """Run a server."""
    with made as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def serving(folder: Path, handler: type[SimpleHTTPRequestHandler] = Files) -> Server:
    """A server of the files of a folder."""
    return Server(functools.partial(handler, directory=str(folder)))
