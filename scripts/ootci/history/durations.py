"""How long tests took lately."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ootci.model.outcome import OutcomeName
from ootci.model.run import Run

RUNS = 3
"""So many runs are looked at: one that was slow by chance does not decide."""
MAX_TESTS = 20_000

_NOT_RUN = (OutcomeName.SKIPPED, OutcomeName.UNSUPPORTED, OutcomeName.NOT_RUN)


def measured(runs: Sequence[Run]) -> dict[str, float]:
    """The median seconds of each test in the last runs that tested anything, oldest run first in ``runs``."""
    tested = [run for run in runs if run.outcomes][-RUNS:]
    seconds: dict[str, list[float]] = {}
    for run in reversed(tested):
        for item in run.outcomes:
            if item.outcome not in _NOT_RUN and (item.id in seconds or len(seconds) < MAX_TESTS):
                seconds.setdefault(item.id, []).append(item.duration)
    return {test_id: round(median(found), 3) for test_id, found in sorted(seconds.items())}
