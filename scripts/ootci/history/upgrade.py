"""Converting a history of format version 1: a file for each plan, and a packed file for each run."""

from __future__ import annotations

import gzip
import json
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ootci.errors import HistoryCorrupt, StageFileInvalid
from ootci.model.plan import Plan
from ootci.model.record import StageFile, parse, write_atomic
from ootci.model.run import Run

from .layout import FIRST_FORMAT, FORMAT, MONTH, format_file, format_of
from .store import History
from .tables import RESTORE

MAX_BYTES = 512 * 1024 * 1024
"""No record is longer than this when it is unpacked."""

S = TypeVar("S", bound=StageFile)


@dataclass(frozen=True)
class Upgraded:
    """How much was converted."""

    plans: int
    runs: int


def upgrade(folder: Path) -> Upgraded | None:
    """Convert a history folder of version 1; None when it is none.

    The new files are made beside the old ones. ``format.json`` decides which count, and is written when all new ones
    are in their place; the old ones are removed after that. Ended at any point, the folder is the old history or the
    new one, and calling this again does the rest.

    Raises:
        HistoryCorrupt: a record cannot be read back.
        HistoryConflict: a run's nightly is not in the history.

    """
    if format_of(folder) != FIRST_FORMAT:
        if format_of(folder) == FORMAT:
            _remove_old(folder)
        return None
    beside = folder / ".upgrade.tmp"
    shutil.rmtree(beside, ignore_errors=True)
    done = _convert(folder, beside)
    for path in [folder / "details", *folder.glob(MONTH)]:
        shutil.rmtree(path, ignore_errors=True)
    for path in sorted(beside.iterdir()) if beside.exists() else ():
        if path != format_file(beside):
            path.rename(folder / path.name)
    write_atomic(format_file(folder), (json.dumps(FORMAT) + "\n").encode())
    _remove_old(folder)
    return done


def _convert(folder: Path, into: Path) -> Upgraded:
    new = History(into)
    plans = sorted((folder / "plans").glob("*.json"))
    with new.together():
        for path in plans:
            new.append_plan(_read(Plan, path, path.read_bytes()))
    runs = 0
    for device in sorted(path for path in (folder / "runs").glob("*") if path.is_dir()):
        paths = sorted(device.glob("*.json.gz"), key=_nightly_and_attempt)
        for path in paths:
            runs += new.append_run(_read(Run, path, _unpacked(path)))
    return Upgraded(len(plans), runs)


def _remove_old(folder: Path) -> None:
    for name in ("plans", "runs", ".upgrade.tmp"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _nightly_and_attempt(path: Path) -> tuple[str, int]:
    nightly, _, attempt = path.name.removesuffix(".json.gz").rpartition(".")
    return nightly, int(attempt) if attempt.isdigit() else 0


def _unpacked(path: Path) -> bytes:
    try:
        with gzip.open(path) as stream:
            return stream.read(MAX_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise HistoryCorrupt(f"the record cannot be unpacked: {error}", where=str(path), fix=RESTORE) from error


def _read(kind: type[S], path: Path, text: bytes) -> S:
    try:
        return parse(kind, text, where=str(path))
    except StageFileInvalid as error:
        raise HistoryCorrupt(error.what, where=str(path), fix=RESTORE) from error
