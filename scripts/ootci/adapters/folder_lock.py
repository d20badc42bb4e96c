"""What must not work in the same folder at once does not."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
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
def held(folder: Path, patience: float = 0) -> Iterator[int]:
    """Lock a folder without putting a file into it, while any process holds the descriptor that this yields.

    Args:
        patience: how many seconds to wait for another one to have ended.

    Raises:
        Busy: another process holds it.
        OSError: the folder is not there.

    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _wait_for(descriptor, folder, time.monotonic() + patience)
        yield descriptor
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, folder: Path, until: float) -> None:
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if time.monotonic() >= until:
                raise Busy(
                    "another command works in this folder", where=str(folder), fix="wait until it has ended"
                ) from error
        time.sleep(0.1)
