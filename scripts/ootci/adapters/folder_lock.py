"""What must not work in the same folder at once does not."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from ootci.errors import Busy, HostFailure


@contextlib.contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a folder's lock, which the kernel releases however the process ends.

    Args:
        folder: the folder; it is made where there is none.
        shared: whether others may hold it too that say the same.

    Raises:
        Busy: another process holds it, and not both share it.
        HostFailure: the folder cannot be made or written.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / "lock").open("w", encoding="utf-8")
    except OSError as error:
        raise HostFailure(
            f"the work folder cannot be used: {error.strerror}",
            where=str(folder),
            fix="choose a writable folder with --work",
        ) from error
    with stream:
        try:
            fcntl.flock(stream, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy(
                "another run of ootci uses this folder",
                where=str(folder),
                fix="wait until it has ended, or choose another folder with --work",
            ) from error
        yield


@contextlib.contextmanager
def held(folder: Path) -> Iterator[int]:
    """Hold a folder without putting a file into it, while anybody has the descriptor that this yields.

    Raises:
        Busy: another process holds it.
        OSError: the folder is not there.

    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Busy(
                "another command works in this folder", where=str(folder), fix="wait until it has ended"
            ) from error
        yield descriptor
    finally:
        os.close(descriptor)
