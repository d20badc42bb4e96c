"""A device's runs by nightly, in the order of the nightlies, whenever each was run again."""

from __future__ import annotations

from .reader import HistoryReader
from .stored import StoredRun


def attempts_by_nightly(history: HistoryReader, device: str) -> tuple[tuple[StoredRun, ...], ...]:
    """The attempts of each nightly, the last attempt first, of the newest nightly first.

    A nightly is as old as its first attempt: one that is run again later stays where it was.

    Raises:
        HistoryCorrupt: a record cannot be read back.

    """
    nightlies: dict[str, list[StoredRun]] = {}
    for run in history.stored_runs(device):
        nightlies.setdefault(run.head.plan_id, []).append(run)
    newest_first = reversed(tuple(nightlies.values()))
    return tuple(tuple(sorted(runs, key=lambda run: run.head.attempt, reverse=True)) for runs in newest_first)
