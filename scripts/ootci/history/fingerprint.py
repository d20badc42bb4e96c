"""Whether a run is still the same, told without making the whole of it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from .stored import StoredRun


def fingerprint(run: StoredRun) -> str:
    """A digest of a run without details, and of the table's rows that it has tests of.

    The same run has the same for good: what is appended later does not change it.
    """
    # Rows that came into the table later are absent from the run.
    states = run.states.rstrip(b"\0")
    return _digest(
        (
            run.head.model_dump_json().encode("utf-8", "surrogatepass"),
            run.tests.digest(len(states)),
            states,
            repr(sorted(run.attempts.items())).encode(),
            repr([(row, vars(run.signatures[row])) for row in sorted(run.signatures)]).encode("utf-8", "surrogatepass"),
        )
    )


def files_fingerprint(paths: Iterable[Path | None]) -> str:
    """A digest of files, each of which may be missing; None stands for one that is known to be."""
    return _digest(_content(path) for path in paths)


def _digest(parts: Iterable[bytes | None]) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(b"none," if part is None else b"%d:" % len(part))
        whole.update(part or b"")
    return whole.hexdigest()


def _content(path: Path | None) -> bytes | None:
    try:
        return path.read_bytes() if path is not None else None
    except FileNotFoundError:
        return None
