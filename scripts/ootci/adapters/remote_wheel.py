"""Looking into a wheel on a server without fetching it: a zip file's list of contents lies at its end."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

from ootci.adapters.download import DownloadProblem, is_range, read
from ootci.adapters.python_env import stated_git_version

MAX_LOOK_BYTES = 16 * 1024 * 1024
"""The list of contents of a torch wheel has about 1.5 MB."""
MAX_MEMBER_BYTES = 64 * 1024
BLOCK = 256 * 1024
SECONDS = 60.0


def torch_commit(url: str) -> str | None:
    """The commit that the torch in a wheel says it was built from; None where the server hands out whole files only.

    Raises:
        DownloadProblem: the file is not there or no whole wheel.

    """
    try:
        return _stated(_Remote(url), url)
    except _WholeFilesOnly:
        return None


def stated_commit(wheel: Path) -> str | None:
    """The same of a wheel on this machine; None where it is no torch wheel."""
    try:
        with wheel.open("rb") as stream:
            return _stated(stream, wheel.name)
    except DownloadProblem:
        return None


def _stated(file: IO[bytes] | io.RawIOBase, where: str) -> str | None:
    try:
        with zipfile.ZipFile(cast("IO[bytes]", file)) as wheel:
            member = wheel.getinfo("torch/version.py")
            if member.file_size > MAX_MEMBER_BYTES:
                raise DownloadProblem(f"{where} is no torch wheel")
            return stated_git_version(wheel.read(member))
    except KeyError as error:
        raise DownloadProblem(f"{where} is no torch wheel") from error
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, NotImplementedError, RuntimeError) as error:
        raise DownloadProblem(f"{where} is no whole wheel") from error


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
            content = self._read(headers, begin)
            self._blocks[number] = content
        return self._blocks[number]

    def _read(self, headers: dict[str, str], begin: int) -> bytes:
        content, said = read(self._url, at_most=BLOCK, seconds=SECONDS, headers=headers)
        answered = is_range(said, begin)
        if answered is None:
            raise _WholeFilesOnly
        self._length = int(answered[1])
        return content

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
                raise DownloadProblem(f"{self._url} is shorter than its server says")
            found += piece
            self._position += len(piece)
        return bytes(found)
