"""Reading the metadata and the commit of a torch wheel without downloading all of it.

An index may serve a wheel's metadata as a separate file, at the wheel's address and ``.metadata`` (PEP 658). Otherwise
parts of the wheel are read (RFC 9110, "Range requests"): the directory of a zip file is at its end.
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from packaging.markers import default_environment
from packaging.metadata import parse_email
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from ootci.adapters.download import DownloadProblem, read
from ootci.adapters.python_env import stated_git_version

MAX_LOOK_BYTES = 16 * 1024 * 1024
"""The list of contents of a torch wheel has about 1.5 MB."""
MAX_MEMBER_BYTES = 1024 * 1024
"""The metadata of torch 2.15.0 has 36 kB."""
MAX_MEMBERS = 65_534
"""Members of a wheel: torch 2.15.0 has 11,000. More need the format's 64-bit extension, which is not read."""
MAX_CONTENTS = 32 << 20
"""Bytes of a zip file's list of contents."""
BLOCK = 1024 * 1024
SECONDS = 60.0
_END_BYTES, _COMMENT = 22, 65535
"""Bytes of the record at a zip file's end, and of a comment after it at most."""

_METADATA = re.compile(r"torch-[^/]+\.dist-info/METADATA")
_ACCELERATOR = re.compile(r"(nvidia|cuda|rocm)(-|$)|.*-(cu[0-9]+|cuda|rocm)([0-9.-]|$)")
"""Names of packages that only builds for CUDA or ROCm require: nvidia-cudnn-cu13, cuda-toolkit, triton-rocm."""


@dataclass(frozen=True)
class Contents:
    """A torch wheel's METADATA (PyPA specification, "Core metadata"), and the commit that it names as its source."""

    commit: str | None
    metadata: bytes


def remote_contents(url: str) -> Contents | None:
    """The facts of the torch wheel at an address; None where the server hands out whole files only.

    Raises:
        DownloadProblem: the file is not there or no whole wheel.

    """
    try:
        return _contents(_Remote(url), url)
    except _WholeFilesOnly:
        return None


def local_contents(wheel: Path) -> Contents:
    """The same of a wheel on this machine.

    Raises:
        DownloadProblem: the file cannot be read or is no whole torch wheel.

    """
    try:
        with wheel.open("rb") as stream:
            return _contents(stream, wheel.name)
    except OSError as error:
        raise DownloadProblem(f"{wheel} cannot be read ({error.strerror})") from error


def remote_metadata(url: str, *, offered: bool) -> bytes | None:
    """The metadata of the torch wheel at an address; None where the server hands out whole files only.

    Args:
        offered: whether the index offers the metadata as a file of its own.

    Raises:
        DownloadProblem: the file is not there or no whole wheel.

    """
    if offered:
        try:
            return read(f"{url}.metadata", at_most=MAX_MEMBER_BYTES, seconds=SECONDS)[0]
        except DownloadProblem:
            pass  # An index that promises the file and does not have it still has the wheel.
    found = remote_contents(url)
    return found.metadata if found else None


def accelerator_packages(metadata: bytes, python: str | None) -> tuple[str, ...]:
    """Packages for CUDA or ROCm that a wheel requires on this machine.

    Args:
        metadata: its file METADATA.
        python: the Python that it is for, such as ``3.12``; None means the tool's own.

    Raises:
        DownloadProblem: it is no metadata of torch, or none that can be understood.

    """
    stated, _ = parse_email(metadata)
    if stated.get("name") != "torch":
        raise DownloadProblem("the metadata is not that of torch")
    # A requirement of an extra is none of the wheel.
    surroundings: dict[str, str] = {**cast("dict[str, str]", default_environment()), "extra": ""}
    if python is not None:
        surroundings.update(python_version=python, python_full_version=f"{python}.0")
    try:
        required = [Requirement(text) for text in stated.get("requires_dist", [])]
        needed = [item.name for item in required if item.marker is None or item.marker.evaluate(surroundings)]
    except (InvalidRequirement, ValueError) as error:
        raise DownloadProblem(f"the metadata cannot be understood: {error}") from error
    return tuple(name for name in needed if _ACCELERATOR.match(canonicalize_name(name)))


def is_bounded(file: IO[bytes] | io.RawIOBase) -> bool:
    """Whether a zip file's list of contents can be read into memory (APPNOTE.TXT, 4.3.16, "End of central directory").

    Python keeps half a kilobyte for each entry, of which an archive may have millions. False also where it is no whole
    zip file.
    """
    length = file.seek(0, io.SEEK_END)
    file.seek(max(0, length - _END_BYTES - _COMMENT - 20))
    tail = file.read() or b""
    file.seek(0)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < _END_BYTES:
        return False
    members = int.from_bytes(tail[at + 10 : at + 12], "little")
    contents = int.from_bytes(tail[at + 12 : at + 16], "little")
    is_zip64 = b"PK\x06\x07" in tail[max(0, at - 20) : at]
    return not is_zip64 and members <= MAX_MEMBERS and contents <= MAX_CONTENTS


def _contents(file: IO[bytes] | io.RawIOBase, where: str) -> Contents:
    if not is_bounded(file):
        raise DownloadProblem(f"{where} is no whole wheel")
    try:
        with zipfile.ZipFile(cast("IO[bytes]", file)) as wheel:
            (metadata,) = (name for name in wheel.namelist() if _METADATA.fullmatch(name))
            members = [wheel.getinfo(name) for name in ("torch/version.py", metadata)]
            if any(member.file_size > MAX_MEMBER_BYTES for member in members):
                raise DownloadProblem(f"{where} is no torch wheel")
            version, stated = map(wheel.read, members)
            return Contents(stated_git_version(version), stated)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise DownloadProblem(f"{where} is no whole wheel") from error
    except (KeyError, ValueError) as error:
        raise DownloadProblem(f"{where} is no torch wheel") from error


class _WholeFilesOnly(Exception):
    """The server does not hand out parts of files."""


class _Remote(io.RawIOBase):
    """A file on a server, read in blocks that are kept."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._blocks: dict[int, bytes] = {}
        self._position = 0
        self._length = 0
        self._block(0)

    def _block(self, number: int) -> bytes:
        if number not in self._blocks:
            if len(self._blocks) * BLOCK > MAX_LOOK_BYTES:
                raise DownloadProblem(f"{self._url} is no torch wheel: its list of contents is too long")
            begin = number * BLOCK
            headers = {"Accept-Encoding": "identity", "Range": f"bytes={begin}-{begin + BLOCK - 1}"}
            content, said = read(self._url, at_most=BLOCK, seconds=SECONDS, headers=headers)
            answered = re.fullmatch(rf"bytes {begin}-\d{{1,15}}/(\d{{1,15}})", said)
            if answered is None:
                raise _WholeFilesOnly
            self._blocks[number], self._length = content, int(answered[1])
        return self._blocks[number]

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin: dict[int, Callable[[], int]] = {
            io.SEEK_SET: lambda: 0,
            io.SEEK_CUR: lambda: self._position,
            io.SEEK_END: lambda: self._length,
        }
        self._position = max(0, origin[whence]() + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        end = self._length if size is None or size < 0 else min(self._position + size, self._length)
        found = bytearray()
        while self._position < end:
            number, skip = divmod(self._position, BLOCK)
            piece = self._block(number)[skip : skip + end - self._position]
            if not piece:
                raise DownloadProblem(f"{self._url} is shorter than its server announced")
            found += piece
            self._position += len(piece)
        return bytes(found)
