"""Reading a foreign wheel: only members of the zip file, within limits; nothing is loaded or run."""

from __future__ import annotations

import stat
import tempfile
import time
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from ootci.adapters.remote_wheel import MAX_CONTENTS, MAX_MEMBERS, is_bounded
from ootci.errors import WheelRefused
from ootci.model.record import open_plain

MAX_MEMBER = 1 << 30
"""Bytes of one member when unpacked: libtorch_cpu.so of torch 2.13.0 has 434 MB."""
MAX_READ = 4 << 30
"""Bytes that are unpacked of one wheel altogether; of a wheel of torch, for one plugin."""
MAX_SECONDS = 300.0
"""Time in which one wheel has to be read; a wheel of torch, for one plugin."""
_PIECE = 1 << 20
_LIST = f"{MAX_MEMBERS:,} members or {MAX_CONTENTS >> 20} MiB"


class Wheel:
    """A wheel of unknown origin (PyPA specification, "Binary distribution format").

    Raises:
        WheelRefused: it is no wheel, or one that no build tool would make: links, paths that lead out of it, names that
            occur twice, encryption, or more than the limits of this module.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.renew_limits()
        try:
            project, version, _, tags = parse_wheel_filename(path.name)
        except (InvalidWheelFilename, ValueError) as error:
            raise self.refused("the file's name is not that of a wheel") from error
        self.project, self.version, self.tags = project, version, tags
        try:
            stream = open_plain(path)
        except OSError as error:
            raise self.refused(f"it cannot be read: {error.strerror}") from error
        try:
            if not is_bounded(stream):
                raise self.refused(f"it is no whole zip file, or its list of contents has more than {_LIST}")
            self._zip = zipfile.ZipFile(stream)
            self.members = self._checked(self._zip.infolist())
        except (zipfile.BadZipFile, NotImplementedError, ValueError, EOFError, OSError) as error:
            stream.close()
            raise self.refused(f"it is no whole zip file ({error})") from error
        except WheelRefused:
            stream.close()
            raise
        self._stream = stream

    def __enter__(self) -> Wheel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._zip.close()
        self._stream.close()

    def renew_limits(self) -> None:
        """Count time and bytes from zero again: a wheel of torch is read for one plugin after another."""
        self._until = time.monotonic() + MAX_SECONDS
        self._left = MAX_READ

    def refused(self, why: str) -> WheelRefused:
        """The error about this wheel."""
        return WheelRefused(
            f"the wheel is refused: {why}", where=str(self.path), fix="download it again, or report it to its publisher"
        )

    def read(self, name: str, at_most: int) -> bytes:
        """The content of a member.

        Raises:
            WheelRefused: it is longer, damaged, or the wheel's limits are used up.

        """
        self._account(name, at_most)
        try:
            return self._zip.read(name)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
            raise self.refused(f"{name} is damaged ({error})") from error

    def unpacked(self, name: str) -> IO[bytes]:
        """The content of a large member as a temporary file without a name, which the caller closes.

        Raises:
            WheelRefused: as by :meth:`read`.

        """
        self._account(name, MAX_MEMBER)
        target = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            with self._zip.open(name) as source:
                while piece := source.read(_PIECE):
                    self.require_time()
                    target.write(piece)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            target.close()
            raise self.refused(f"{name} is damaged ({error})") from error
        except BaseException:
            target.close()
            raise
        return target

    def require_time(self) -> None:
        """Raise WheelRefused once reading this wheel has taken too long."""
        if time.monotonic() > self._until:
            raise self.refused(f"reading it takes more than {MAX_SECONDS:.0f} s")

    def _account(self, name: str, at_most: int) -> None:
        self.require_time()
        size = self.members[name].file_size
        self._left -= size
        if size > at_most:
            raise self.refused(f"{name} unpacks to {size:,} bytes; {at_most:,} are read at most")
        if self._left < 0:
            raise self.refused(f"it unpacks to more than {MAX_READ:,} bytes")

    def _checked(self, found: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        if len(found) > MAX_MEMBERS:
            raise self.refused(f"it has more than {MAX_MEMBERS:,} members")
        members: dict[str, zipfile.ZipInfo] = {}
        for item in found:
            name = item.filename
            parts = PurePosixPath(name).parts
            if not name or name.startswith("/") or ".." in parts or "\\" in name or not name.isprintable():
                raise self.refused(f"a member's path leads out of it or cannot be shown: {name[:200]!r}")
            if stat.S_ISLNK(item.external_attr >> 16):
                raise self.refused(f"{name} is a symbolic link")
            if item.flag_bits & 1:
                raise self.refused(f"{name} is encrypted")
            if name in members:
                raise self.refused(f"{name} occurs twice")
            if not item.is_dir():
                members[name] = item
        return members
