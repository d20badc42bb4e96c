"""Locks on folders, so that two commands never work in one at once; the kernel releases them however a process ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ootci.errors import Busy, HostFailure


@contextlib.contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold a folder, which is made where there is none.

    Args:
        shared: as by :func:`held`.

    Raises:
        Busy: another process holds it, and not both share it.
        HostFailure: the folder cannot be made or written.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise HostFailure(
            f"the work folder cannot be used: {error.strerror}",
            where=str(folder),
            fix="choose a writable folder with --work",
        ) from error
    with held(folder, shared=shared):
        yield


@contextlib.contextmanager
def held(folder: Path, patience: float = 0, *, shared: bool = False) -> Iterator[int]:
    """Lock a folder while any process holds the descriptor that this yields.

    Args:
        patience: how many seconds to wait until another process has ended.
        shared: whether others may hold it at the same time that share it, too.

    Raises:
        Busy: another process holds it, and not both share it.
        OSError: the folder does not exist, or its file system has no such locks.

    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    until = time.monotonic() + patience
    try:
        while True:
            try:
                fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= until:
                    raise Busy(
                        "another run of ootci uses this folder",
                        where=str(folder),
                        fix="wait until it has ended, or choose another folder with --work or --history",
                    ) from error
            time.sleep(0.1)
        yield descriptor
    finally:
        os.close(descriptor)
