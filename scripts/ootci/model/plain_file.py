"""Opening files that a device's process could have put there or exchanged."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading; a link, a pipe or a device is refused without being opened.

    Raises:
        OSError: it is none of ours to read, or cannot be read.

    """
    _require_plain(path, os.lstat(path).st_mode)
    # It may have been exchanged meanwhile: a link is not followed, and a pipe is not waited for.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _require_plain(path, os.fstat(descriptor).st_mode)
    except OSError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _require_plain(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is no plain file", str(path))
