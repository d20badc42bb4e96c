"""Recent durations of tests."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from statistics import median

from ootci.model.durations import MAX_TESTS
from ootci.model.outcome import NOT_EXECUTED
from ootci.model.run import Run

RUNS = 3
"""Runs that are read: several, so that one slow run does not decide."""


def measured(newest_first: Iterable[Run]) -> dict[str, float]:
    """The median seconds of each test in the last runs that tested anything; older ones are not read.

    Raises:
        HistoryCorrupt: a run cannot be read back.

    """
    seconds: dict[str, list[float]] = {}
    for run in islice((run for run in newest_first if run.outcomes), RUNS):
        for item in run.outcomes:
            if item.outcome in NOT_EXECUTED or not 0 <= item.duration < math.inf:
                continue
            if item.id in seconds or len(seconds) < MAX_TESTS:
                seconds.setdefault(item.id, []).append(item.duration)
    return {test_id: round(median(found), 3) for test_id, found in sorted(seconds.items())}


def averaged(before: Mapping[str, float], run: Run) -> dict[str, float]:
    """The mean of one run's durations and the ones before; tests that did not run keep theirs.

    For a run without a history: old durations fade, and a run that was slow by chance does not decide alone.
    """
    now = measured([run])
    both = {**before, **{test: round((before.get(test, took) + took) / 2, 3) for test, took in now.items()}}
    newest_first = [*now, *(test for test in both if test not in now)]
    return {test: both[test] for test in sorted(newest_first[:MAX_TESTS])}
