"""The comparison basis of a night: the plan, the reports before, and the tests that a device still has to run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ootci.model.device import UPSTREAM
from ootci.model.plan import Plan, PlannedSuite
from ootci.model.run import ReportState, SuiteReport
from ootci.model.torch_build import Channel

from .states import COLLECTED, bytes_of, number_of, number_with, rows_in
from .stored import StoredRun

LISTED_BY_PYTORCH = frozenset(("ops", UPSTREAM))
"""Suites whose tests come from lists in PyTorch."""


@dataclass(frozen=True)
class Baseline:
    """The basis that a night is compared with.

    Attributes:
        before: what was reported before, of each suite the last complete report; None where nothing was.
        rows: the tests that the device ran on earlier nights and is expected to run still: a number with a byte for
            each row of the table of tests, that of row 0 being the lowest, all bits where the test is expected. So a
            year of nights is compared in well under a second. All rows here are such numbers.

    """

    before: StoredRun | None = None
    rows: int = 0

    def lost(self, run: StoredRun) -> dict[str, int]:
        """The rows of the expected tests that did not run, by suite, of those that were reported completely."""
        missing = self.rows & run.tests.mask(run.head.complete_suites) & ~run.executed
        missing &= ~ran(run, missing)
        by_suite = {suite: missing & run.tests.mask(frozenset((suite,))) for suite in sorted(run.head.complete_suites)}
        return {suite: rows for suite, rows in by_suite.items() if rows}

    def size(self, run: StoredRun, suite: str) -> int:
        """How many tests of a suite are expected."""
        return (self.rows & run.tests.mask(frozenset((suite,)))).bit_count() // 8

    def after(self, run: StoredRun, accepted: int) -> Baseline:
        """The basis for the next night.

        Args:
            run: what was reported, as it was planned: of a suite that is no longer planned nothing is expected.
            accepted: rows of the lost tests whose loss is accepted.

        """
        complete = run.tests.mask(run.head.complete_suites)
        kept = self.rows & run.tests.mask(frozenset(report.suite for report in run.head.suites))
        missing = kept & complete & ~run.executed
        # A test whose title or capability changed has a new row, and is expected there.
        kept &= ~(missing & (ran(run, missing) | accepted))
        return Baseline(_base_of(self.before, run), kept | (run.executed & complete))


class Earlier:
    """The earlier nights of a device on one channel, as far as a later one is compared with them.

    Nights on a newer torch are left out, because an older torch lacks the tests that a newer one brought. Between two
    releases, PyTorch's own lists of tests are not compared, because each release has its own. Between nightlies they
    are, so that the first nightly without a test is found.
    """

    def __init__(self) -> None:
        self._by_release: dict[tuple[int, ...], Baseline] = {}

    def of(self, run: StoredRun | None) -> Baseline:
        """The basis for a run; for a run of unknown torch, the nights on the newest torch."""
        release = run.head.release if run is not None else None
        known = [other for other in self._by_release if release is None or other <= release]
        if not known:
            return Baseline()
        baseline = self._by_release[max(known)]
        if run is None or release in (None, max(known)) or run.head.channel is Channel.NIGHTLY:
            return baseline
        return replace(baseline, rows=baseline.rows & ~run.tests.mask(LISTED_BY_PYTORCH))

    def add(self, run: StoredRun, accepted: int = 0) -> None:
        """Add what was reported, as it was planned, on the night that follows.

        Args:
            accepted: rows of the lost tests whose loss is accepted.

        """
        release = run.head.release or max(self._by_release, default=())
        self._by_release[release] = self.of(run).after(run, accepted)


def ran(run: StoredRun, rows: int) -> int:
    """Those of some rows whose tests were executed, be it under another row, as a title or capability changed."""
    return _with(run, rows, run.executed)


def collected(run: StoredRun, rows: int) -> int:
    """Those of some rows whose tests were collected, executed or not, be it under another row."""
    return _with(run, rows, number_of(run.states.translate(COLLECTED)))


def _with(run: StoredRun, rows: int, wanted: int) -> int:
    moved: list[int] = []
    if elsewhere := (missing := rows & ~wanted) and missing & run.tests.with_others:
        found = bytes_of(wanted)
        moved = [row for row in rows_in(elsewhere) if _any_of(found, run.tests.rows_of_id(run.tests[row].id))]
    return rows & wanted | number_with(moved)


def _any_of(wanted: bytes, rows: Iterable[int]) -> bool:
    return any(row < len(wanted) and wanted[row] for row in rows)


def as_planned(plan: Plan, run: StoredRun | None) -> StoredRun | None:
    """The run with its suites as the plan expected them.

    run.json comes from a job that ran vendor code, so which suites are required, and how many tests are expected, is
    taken from the plan; a planned suite that the run does not mention has not reported.
    """
    planned = plan.expected(run.head.device) if run is not None else None
    if run is None or planned is None:
        return run
    reported = {report.suite: report for report in run.head.suites}
    suites = tuple(_as_expected(suite, reported.get(suite.name)) for suite in planned.suites)
    # Most runs are as planned. The very same one is told to be the same at no cost.
    return run if suites == run.head.suites else replace(run, head=run.head.model_copy(update={"suites": suites}))


def concerns(plan: Plan, device: str) -> bool:
    """Whether the nightly expected the device, or left it out because it was paused."""
    return plan.expected(device) is not None or any(left.device == device and left.paused for left in plan.left_out)


def _base_of(before: StoredRun | None, run: StoredRun) -> StoredRun | None:
    """The basis for the next night: for each suite this run, if it reported it completely, else ``before``."""
    complete = run.head.complete_suites
    if before is None or not complete:
        return run if complete else before
    older = [report for report in before.head.suites if report.suite not in complete]
    newer = [report for report in run.head.suites if report.suite in complete]
    if not older and len(newer) == len(run.head.suites):
        return run
    both = run.of_suites(complete).with_tests_of(before.of_suites(report.suite for report in older))
    return replace(both, head=run.head.model_copy(update={"suites": (*older, *newer)}))


def _as_expected(suite: PlannedSuite, report: SuiteReport | None) -> SuiteReport:
    expected: dict[str, Any] = {"required": suite.required, "min_tests": suite.min_tests}
    if report is None:
        why = "the run does not mention it"
        return SuiteReport(suite=suite.name, state=ReportState.MISSING, detail=why, **expected)
    is_as_expected = all(getattr(report, key) == value for key, value in expected.items())
    return report if is_as_expected else report.model_copy(update=expected)
