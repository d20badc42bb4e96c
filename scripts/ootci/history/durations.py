"""How long tests took lately."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from statistics import median

from ootci.model.outcome import NOT_EXECUTED
from ootci.model.run import Run

RUNS = 3
"""So many runs are looked at: one that was slow by chance does not decide."""
MAX_TESTS = 20_000


def measured(newest_first: Iterable[Run]) -> dict[str, float]:
    """The median seconds of each test in the last runs that tested anything; older ones are not asked for.

    Raises:
        HistoryCorrupt: a run cannot be read back.

    """
    seconds: dict[str, list[float]] = {}
    for run in islice((run for run in newest_first if run.outcomes), RUNS):
        for item in run.outcomes:
            if item.outcome not in NOT_EXECUTED and (item.id in seconds or len(seconds) < MAX_TESTS):
                seconds.setdefault(item.id, []).append(item.duration)
    return {test_id: round(median(found), 3) for test_id, found in sorted(seconds.items())}
