"""PyTorch's package index on loopback, with everything that can go wrong with an index and its files."""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from misbehaving import stub_torch_wheel


class Fault(Enum):
    """What one request meets."""

    NONE = "answered as it should be"
    BUSY = "503"
    GONE = "404"
    HALF = "broken off in the middle"
    TRICKLE = "a byte now and then, for ever"
    SILENT = "no answer"


@dataclass
class Asked:
    """One request: the file's name or ``torch`` for the page, and the part that was asked for."""

    name: str
    part: str | None


@dataclass
class TorchServer:
    """Serves the wheels of a folder ``nightly/cpu`` and ``release/cpu``.

    Attributes:
        folder: where the wheels are made.
        faults: for a name, what its next requests meet, one each; the last one stays when it is repeated in `stays`.
        stays: for a name, what all its requests meet.
        withdrawn: for a version, the reason on the page; it may be empty.
        stated: for a version, a checksum that is not the wheel's.
        parts: whether parts of files are handed out.

    """

    folder: Path
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    stays: dict[str, Fault] = field(default_factory=dict)
    withdrawn: dict[str, str] = field(default_factory=dict)
    stated: dict[str, str] = field(default_factory=dict)
    parts: bool = True
    asked: list[Asked] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    address: str = ""
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def variables(self) -> dict[str, str]:
        """Environment variables that point the tool to it."""
        return {
            "OOTCI_NIGHTLY_INDEX": f"{self.address}/nightly",
            "OOTCI_RELEASE_INDEX": f"{self.address}/release",
            "NO_PROXY": "127.0.0.1",
        }

    def add(self, channel: str, version: str, **commit: str) -> str:
        """Make a stand-in for torch of that version; gives its file name."""
        wheel = stub_torch_wheel(self.folder / channel, version, **commit)
        self.files[f"/{channel}/cpu/torch/{wheel.name}"] = wheel.read_bytes()
        return wheel.name

    def page(self, folder: str) -> bytes:
        """The index page of the files in a folder."""
        lines = []
        for path, content in self.files.items():
            if path.startswith(folder):
                name = path.rpartition("/")[2]
                version = name.split("-")[1]
                digest = self.stated.get(version, hashlib.sha256(content).hexdigest())
                yanked = f' data-yanked="{self.withdrawn[version]}"' if version in self.withdrawn else ""
                lines.append(f'<a href="{name.replace("+", "%2B")}#sha256={digest}"{yanked}>{name}</a>')
        return ("<!DOCTYPE html><body>" + "\n".join(lines) + "</body>").encode()

    def fault(self, name: str) -> Fault:
        """What this request meets."""
        waiting = self.faults.get(name)
        return waiting.pop(0) if waiting else self.stays.get(name, Fault.NONE)


@contextlib.contextmanager
def serve_torch_index(folder: Path) -> Iterator[TorchServer]:
    """A server without wheels; add some."""
    server = TorchServer(folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(server)) as http:
        http.daemon_threads = True
        server.address = f"http://127.0.0.1:{http.server_port}"
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            http.shutdown()
            thread.join()


def _handler(server: TorchServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.replace("%2B", "+")
            name = path.rstrip("/").rpartition("/")[2]
            server.asked.append(Asked(name, self.headers["Range"]))
            fault = server.fault(name)
            if fault is Fault.SILENT:
                server.over.wait()
                return
            content = server.page(path) if name == "torch" else server.files.get(path)
            if fault is Fault.BUSY or fault is Fault.GONE or content is None:
                self.send_error(503 if fault is Fault.BUSY else 404)
                return
            self._send(content, fault)

        def _send(self, content: bytes, fault: Fault) -> None:
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            begin, end = _part(self.headers, tag, len(content)) if server.parts else (0, len(content))
            partly = server.parts and self.headers["Range"] is not None and _same(self.headers, tag)
            self.send_response(206 if partly else 200)
            if partly:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            self.send_header("ETag", tag)
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            body = content[begin:end]
            with contextlib.suppress(ConnectionError):
                if fault is Fault.TRICKLE:
                    for number in range(len(body)):
                        self.wfile.write(body[number : number + 1])
                        if server.over.wait(0.05):
                            return
                self.wfile.write(body[: len(body) // 2] if fault is Fault.HALF else body)

        def log_message(self, *_: object) -> None:
            """Say nothing: the tests' output is theirs."""

    return Handler


def _same(headers: Message, tag: str) -> bool:
    return headers["If-Range"] in (None, tag)


def _part(headers: Message, tag: str, length: int) -> tuple[int, int]:
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", headers["Range"] or "")
    if wanted is None or not _same(headers, tag):
        return 0, length
    return int(wanted[1]), min(int(wanted[2] or length) + 1, length)
