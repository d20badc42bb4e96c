"""Package indexes on loopback, with everything that can go wrong with an index and its files.

They keep to the simple repository API: addresses of pages end in a slash, and those without one are redirected there; a
project without files is not there (PEP 503); who accepts no HTML is told so (PEP 691); withdrawn files have
``data-yanked`` (PEP 592); a file whose metadata lies beside it has ``data-core-metadata`` (PEP 658 and 714).
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from email.message import Message
from enum import Enum
from pathlib import Path

from commands import NO_PIP
from loopback import Quiet, Server, running
from misbehaving import COMMIT, stub_torch_wheel

FOR_CUDA = """\
filelock
cuda-toolkit[cublas,cudart]==13.2.2; platform_system == "Linux"
nvidia-cudnn-cu13==9.26.0.51; platform_system == "Linux"
triton~=3.9.0; platform_system == "Linux" and python_version < "3.16"
opt-einsum>=3.3; extra == "opt-einsum"
"""
"""What the builds for CUDA require, as torch 2.15.0 does."""
FOR_CPU = """\
filelock
typing-extensions>=4.10.0
nvidia-cublas-cu12==12.8.4.1; platform_machine == "z80"
nvidia-ml-py; extra == "monitor"
triton-windows; platform_system == "Windows"
"""
"""What a build for the CPU may name: what it needs on other machines, or for an extra."""
GARBAGE = b'\x00\xff{"files": [}<a href=>' * 100
"""What an index answers that is none."""


class Fault(Enum):
    """What one request meets."""

    NONE = "answered as it should be"
    BUSY = "503"
    GONE = "404"
    HALF = "broken off in the middle"
    TRICKLE = "a byte now and then, for ever"
    SILENT = "no answer"
    GARBAGE = "200, and something that is no page"


@dataclass
class Asked:
    """One request: the file's name or ``torch`` for the page, and the part that was asked for."""

    name: str
    part: str | None


@dataclass
class TorchServer:
    """Serves ``nightly/cpu`` and ``release/cpu``, laid out like PyTorch's indexes, and ``simple``, where pip may look.

    Attributes:
        folder: where the wheels are made.
        faults: for a name, what its next requests meet, one each; the last one stays when it is repeated in `stays`.
        stays: for a name, what all its requests meet.
        withdrawn: for a version, the reason on the page; it may be empty.
        stated: for a version, a checksum that is not the wheel's.
        parts: whether parts of files are handed out.
        sent: for a name, how many bytes of it were handed out.

    """

    folder: Path
    faults: dict[str, list[Fault]] = field(default_factory=dict)
    stays: dict[str, Fault] = field(default_factory=dict)
    withdrawn: dict[str, str] = field(default_factory=dict)
    stated: dict[str, str] = field(default_factory=dict)
    parts: bool = True
    sent: dict[str, int] = field(default_factory=dict)
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

    @property
    def pip_variables(self) -> dict[str, str]:
        """Environment variables that let pip look on the index ``simple`` and nowhere else."""
        return {**NO_PIP, "PIP_NO_INDEX": "0", "PIP_INDEX_URL": f"{self.address}/simple"}

    def add(
        self,
        channel: str,
        version: str,
        commit: str = COMMIT,
        *,
        requires: str = "",
        tag: str = "py3-none-any",
        size: int = 0,
        beside: bool = False,
    ) -> str:
        """Make a stand-in for torch of that version, with its metadata beside it or not; gives its file name."""
        wheel = stub_torch_wheel(self.folder / channel, version, commit, requires=requires, tag=tag, size=size)
        folder = "/packages/ab/cd" if channel == "simple" else f"/{channel}/cpu/torch"
        self.files[f"{folder}/{wheel.name}"] = wheel.read_bytes()
        if beside:
            with zipfile.ZipFile(wheel) as archive:
                metadata = archive.read(f"torch-{version}.dist-info/METADATA")
            self.files[f"{folder}/{wheel.name}.metadata"] = metadata
        return wheel.name

    def page(self, folder: str) -> bytes | None:
        """The index page of the files in a folder; None where there are none."""
        lines = []
        below = "/packages/" if folder == "/simple/torch/" else folder
        for path, content in self.files.items():
            if not path.startswith(below) or path.endswith(".metadata"):
                continue
            name = path.rpartition("/")[2]
            version = name.split("-")[1]
            digest = self.stated.get(version, hashlib.sha256(content).hexdigest())
            more = f' data-yanked="{self.withdrawn[version]}"' if version in self.withdrawn else ""
            if (metadata := self.files.get(f"{path}.metadata")) is not None:
                more += f' data-core-metadata="sha256={hashlib.sha256(metadata).hexdigest()}"'
            href = (path if folder == "/simple/torch/" else name).replace("+", "%2B")
            lines.append(f'<a href="{href}#sha256={digest}" data-requires-python="&gt;=3.10"{more}>{name}</a><br/>')
        return ("<!DOCTYPE html><body>" + "\n".join(lines) + "</body>").encode() if lines else None

    def fault(self, name: str) -> Fault:
        """What this request meets."""
        waiting = self.faults.get(name)
        return waiting.pop(0) if waiting else self.stays.get(name, Fault.NONE)


@contextlib.contextmanager
def serve_torch_index(folder: Path) -> Iterator[TorchServer]:
    """A server without wheels; add some."""
    server = TorchServer(folder)
    with running(Server(_handler(server))) as http:
        server.address = http.url
        try:
            yield server
        finally:
            server.over.set()


def _handler(server: TorchServer) -> type[Quiet]:
    class Handler(Quiet):
        def do_GET(self) -> None:
            path = self.path.replace("%2B", "+")
            name = path.rstrip("/").rpartition("/")[2]
            server.asked.append(Asked(name, self.headers["Range"]))
            fault = server.fault(name)
            if fault is Fault.SILENT:
                server.over.wait()
                return
            if name == "torch" and not path.endswith("/"):
                self.answer(301, headers={"Location": f"{path}/"})
                return
            content = server.page(path) if name == "torch" else server.files.get(path)
            if (refused := _refused(name, content, fault, self.headers["Accept"])) is not None:
                self.send_error(refused)
                return
            self._send(GARBAGE if fault is Fault.GARBAGE else content or b"", fault, name)

        def _send(self, content: bytes, fault: Fault, name: str) -> None:
            tag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
            begin, end = _part(self.headers, tag, len(content)) if server.parts else (0, len(content))
            partly = server.parts and self.headers["Range"] is not None and _same(self.headers, tag)
            self.send_response(206 if partly else 200)
            if partly:
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
            self.send_header("ETag", tag)
            self.send_header("Content-Type", "text/html" if name == "torch" else "application/octet-stream")
            self.send_header("Content-Length", str(end - begin))
            self.end_headers()
            body = content[begin:end]
            server.sent[name] = server.sent.get(name, 0) + len(body)
            with contextlib.suppress(ConnectionError):
                if fault is Fault.TRICKLE:
                    for number in range(len(body)):
                        self.wfile.write(body[number : number + 1])
                        if server.over.wait(0.05):
                            return
                self.wfile.write(body[: len(body) // 2] if fault is Fault.HALF else body)

    return Handler


def _refused(name: str, content: bytes | None, fault: Fault, accept: str | None) -> int | None:
    """The status of a request that gets no content."""
    if name == "torch" and not re.search(r"text/html|text/\*|\*/\*", accept or "*/*"):
        return 406
    if fault is Fault.BUSY:
        return 503
    return 404 if fault is Fault.GONE or content is None else None


def _same(headers: Message, tag: str) -> bool:
    return headers["If-Range"] in (None, tag)


def _part(headers: Message, tag: str, length: int) -> tuple[int, int]:
    wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", headers["Range"] or "")
    if wanted is None or not _same(headers, tag):
        return 0, length
    return int(wanted[1]), min(int(wanted[2] or length) + 1, length)
