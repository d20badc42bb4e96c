"""The history folder: plans and runs, one immutable file each.

Layout: ``format.json`` names the format's version; ``plans/<plan id>.json`` is what a nightly expected;
``runs/<device>/<plan id>.<attempt>.json.gz`` is what was reported. Files are written once, atomically, and never
changed, so that two publishers can only ever add.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from ootci.errors import HistoryConflict, HistoryCorrupt, StageFileInvalid
from ootci.model.plan import Plan
from ootci.model.record import StageFile, parse, write_atomic
from ootci.model.run import Run

FORMAT = {"format": "ootci-history", "version": 1}

S = TypeVar("S", bound=StageFile)


class History:
    """A history folder; a missing one is empty.

    Args:
        folder: the folder, ``data/`` on a laptop and a checkout of the branch ``data`` on GitHub.

    Raises:
        HistoryCorrupt: the folder is not a history of a version that this tool reads.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        marker = folder / "format.json"
        if marker.exists():
            try:
                found = json.loads(marker.read_text(encoding="utf-8"))
            except ValueError:
                found = None
            if found != FORMAT:
                raise HistoryCorrupt(
                    "the folder holds a history of another format",
                    where=str(marker),
                    fix="use the version of ootci that wrote it, or another folder with --history",
                )

    def append_plan(self, plan: Plan) -> bool:
        """Add what a nightly expected; false when it was there already.

        Raises:
            HistoryConflict: another plan has the same id.

        """
        return self._append(self.folder / "plans" / f"{plan.id}.json", plan.to_json().encode())

    def append_run(self, run: Run) -> bool:
        """Add what a device reported; false when it was there already.

        Raises:
            HistoryConflict: another run has the same device, nightly and attempt.

        """
        path = self.folder / "runs" / run.device / f"{run.plan_id}.{run.attempt}.json.gz"
        return self._append(path, gzip.compress(run.to_json().encode(), mtime=0))

    def plans(self) -> tuple[Plan, ...]:
        """Every nightly, oldest first.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        plans = [_read(Plan, path) for path in (self.folder / "plans").glob("*.json")]
        return tuple(sorted(plans, key=lambda plan: (plan.created_at, plan.id)))

    def runs(self, device: str) -> tuple[Run, ...]:
        """Every attempt of a device, oldest first.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        runs = [_read(Run, path) for path in (self.folder / "runs" / device).glob("*.json.gz")]
        return tuple(sorted(runs, key=lambda run: (run.started_at, run.plan_id, run.attempt)))

    def newest_runs(self, device: str) -> Iterator[Run]:
        """The attempts of a device, newest nightly first, read one by one.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        paths = (self.folder / "runs" / device).glob("*.json.gz")
        for path in sorted(paths, key=_nightly_and_attempt, reverse=True):
            yield _read(Run, path)

    def devices(self) -> tuple[str, ...]:
        """Names of all devices that ever reported, sorted."""
        return tuple(sorted(path.name for path in (self.folder / "runs").glob("*") if path.is_dir()))

    def _append(self, path: Path, content: bytes) -> bool:
        if path.exists():
            if _content(path.read_bytes(), path) == _content(content, path):
                return False
            raise HistoryConflict(
                f"a different record is already stored as `{path.stem}`",
                where=str(path),
                fix="give the new attempt a number of its own; what is stored stays",
            )
        marker = self.folder / "format.json"
        if not marker.exists():
            write_atomic(marker, (json.dumps(FORMAT) + "\n").encode())
        write_atomic(path, content)
        return True


def _nightly_and_attempt(path: Path) -> tuple[str, int]:
    nightly, _, attempt = path.name.removesuffix(".json.gz").rpartition(".")
    return nightly, int(attempt) if attempt.isdigit() else 0


def _content(stored: bytes, path: Path) -> bytes:
    if path.suffix != ".gz":
        return stored
    try:
        return gzip.decompress(stored)
    except (OSError, EOFError, zlib.error) as error:
        raise HistoryCorrupt(
            f"the record cannot be unpacked: {error}",
            where=str(path),
            fix="restore the file from the data branch's git history",
        ) from error


def _read(kind: type[S], path: Path) -> S:
    try:
        return parse(kind, _content(path.read_bytes(), path), where=str(path))
    except StageFileInvalid as error:
        raise HistoryCorrupt(
            error.what, where=str(path), fix="restore the file from the data branch's git history"
        ) from error
