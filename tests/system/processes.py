"""Whether a process still runs."""

from __future__ import annotations

import time
from pathlib import Path


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie, which only its parent can clear away (proc(5), ``stat``)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int, seconds: float = 20) -> bool:
    """Whether a process ends within that time."""
    deadline = time.monotonic() + seconds
    while runs(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not runs(pid)
