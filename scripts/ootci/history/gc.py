"""Removing details that are old: outcomes of tests are kept forever, texts and durations are not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from .details import Accuracies, Measures, Texts
from .layout import MONTH
from .reader import HistoryReader

TEXTS_NIGHTS = 90
"""Nights before the newest for which texts of failures are kept."""
MEASURES_RUNS = 5
"""The newest runs of a device keep durations, operator counts and throughput, and their texts whatever their age."""
ACCURACY_RUNS = 20
"""The newest runs of a device keep the errors of their results: those of two weeks, and some retries."""


@dataclass(frozen=True)
class Removed:
    """A file that was removed, or would be, with why: its kind, or ``unfinished`` where an ended command left it."""

    path: Path
    size: int
    why: str


def old_details(history: HistoryReader) -> tuple[Removed, ...]:
    """The files that need not be kept, by path.

    Raises:
        HistoryCorrupt: a nightly or a run cannot be read back.

    """
    planned = {plan.id: plan.created_at for plan in history.plans()}
    newest = max(planned.values(), default=None)
    kept: set[Path] = set()
    dropped: dict[Path, str] = {}
    for device in history.devices():
        keys = sorted(
            (key for key in history.run_keys(device) if key.plan_id in planned),
            key=lambda key: (planned[key.plan_id], key),
        )
        for number, key in enumerate(reversed(keys)):
            is_new = number < MEASURES_RUNS
            has_words = is_new or newest is None or newest - planned[key.plan_id] <= timedelta(days=TEXTS_NIGHTS)
            for kind, stays in ((Texts, has_words), (Measures, is_new), (Accuracies, number < ACCURACY_RUNS)):
                path = history.details_path(key, kind)
                if stays:
                    kept.add(path)
                else:
                    dropped[path] = kind.__name__.lower()
    found = (path for path in _files(history.folder) if path not in kept)
    return tuple(Removed(path, path.stat().st_size, dropped.get(path, "unfinished")) for path in found)


def remove(files: Iterable[Removed], folder: Path) -> None:
    """Remove files, and the folders of months that are empty then. Ended half-way, it can be repeated."""
    for file in files:
        file.path.unlink(missing_ok=True)
    for month in (folder / "details").glob(MONTH):
        if not any(month.iterdir()):
            month.rmdir()


def _files(folder: Path) -> list[Path]:
    """All details, and what commands that were ended left of files that they wrote."""
    left = [path for path in folder.rglob(".*.tmp") if path.is_file() and ".git" not in path.parts]
    return sorted({*left, *(path for path in (folder / "details").rglob("*") if path.is_file())})
