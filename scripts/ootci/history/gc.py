"""Removing details that are old: what a history says of every test stays for good, its texts and durations do not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from .layout import MONTH, details_file
from .reader import HistoryReader

TEXTS_NIGHTS = 90
"""What failed is kept in words for so many nights before the newest."""
MEASURES_RUNS = 5
"""The newest runs of a device keep their durations and operator counts, and their texts whatever their age."""


@dataclass(frozen=True)
class Removed:
    """A file that was removed, or would be.

    Attributes:
        path: the file.
        size: its bytes.
        why: ``texts``, ``measures``, or ``unfinished`` for what an ended command left behind.

    """

    path: Path
    size: int
    why: str


@dataclass(frozen=True)
class _Key:
    planned: datetime
    plan_id: str
    attempt: int
    month: str


def old_details(history: HistoryReader, texts_nights: int, measures_runs: int) -> tuple[Removed, ...]:
    """The files that need not be kept, by path.

    Args:
        history: the history.
        texts_nights: keep texts of nightlies that are no more days older than the newest.
        measures_runs: keep measures, and texts too, of so many of the newest runs of each device.

    Raises:
        HistoryCorrupt: a nightly or a run cannot be read back.

    """
    plans = {
        plan.id: (plan.created_at, path.parent.name) for path in history.plan_files() for plan in history.plans_of(path)
    }
    newest = max((created for created, _ in plans.values()), default=None)
    kept: set[Path] = set()
    dropped: dict[Path, str] = {}
    for device in history.devices():
        keys = sorted(_keys(history, device, plans), key=lambda key: (key.planned, key.plan_id, key.attempt))
        for number, key in enumerate(reversed(keys)):
            is_new = number < measures_runs
            has_words = is_new or newest is None or newest - key.planned <= timedelta(days=texts_nights)
            for kind, stays in (("texts", has_words), ("measures", is_new)):
                path = details_file(history.folder, key.month, device, key.plan_id, key.attempt, kind)
                if stays:
                    kept.add(path)
                else:
                    dropped[path] = kind
    found = (path for path in _files(history.folder) if path not in kept)
    return tuple(Removed(path, path.stat().st_size, dropped.get(path, "unfinished")) for path in found)


def remove(files: Iterable[Removed], folder: Path) -> None:
    """Remove files, and the folders of months that are empty then. Ended half-way, it can be repeated."""
    for file in files:
        file.path.unlink(missing_ok=True)
    for month in (folder / "details").glob(MONTH):
        if not any(month.iterdir()):
            month.rmdir()


def _keys(history: HistoryReader, device: str, plans: dict[str, tuple[datetime, str]]) -> Iterator[_Key]:
    for path in history.run_files(device):
        for plan_id, attempt in history.run_file(path).keys:
            if plan_id in plans:
                created, month = plans[plan_id]
                yield _Key(created, plan_id, attempt, month)


def _files(folder: Path) -> list[Path]:
    """All details, and what commands that were ended left of files that they wrote."""
    left = [path for place in (folder, *folder.glob(MONTH)) for path in place.glob(".*.tmp") if path.is_file()]
    return sorted([*left, *(path for path in (folder / "details").rglob("*") if path.is_file())])
