"""Which tests failed last, so that a device run can tell a new failure from an old one without the history."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from ootci.model.run import ReportState

from .stored import StoredRun

MAX_IDS = 2_000
"""More would make the plan long for no use: where so many tests fail, nothing is run again."""
MAX_RUNS = 30


def failing_before(newest_first: Iterable[StoredRun]) -> tuple[str, ...] | None:
    """Tests that failed when their suite last reported completely; None when no suite ever did.

    A test that was flaky then is left out: when it fails again, it is to be run again.

    Raises:
        HistoryCorrupt: a run cannot be read back.

    """
    seen: set[str] = set()
    wanted: set[str] | None = None
    failing: list[str] = []
    for run in islice(newest_first, MAX_RUNS):
        # What failed on a torch that stood in for the one wanted is no evidence about that one.
        if run.head.channel is None:
            continue
        wanted = {report.suite for report in run.head.suites} if wanted is None else wanted
        complete = {report.suite for report in run.head.suites if report.state is ReportState.COMPLETE} - seen
        failing += [item.id for item in run.failures if item.suite in complete and not item.is_flaky]
        seen |= complete
        if seen >= wanted:
            break
    return tuple(failing[:MAX_IDS]) if seen else None
