"""What came of every test of every run, for programs: a small file for each attempt, and tables of tests beside them.

Rows are those of the history's table of tests, which all devices share and to which lines are only added. So a run's
file does not change, nothing is written twice, and two runs can be compared row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ootci.history.claims import known_ids
from ootci.history.states import painted, row_text
from ootci.history.stored import StoredRun
from ootci.history.tables import TestTable
from ootci.model.plan import Plan
from ootci.model.run import Run

from .device_view import RunPage
from .links import folder_name
from .pages.published import OutcomeRows, RunEntry, RunFile, RunsFile, RunStage, TestEntry, TestsFile

RUNS = "runs"
TESTS = "tests"
TESTS_EACH = 4096
"""Rows in one file of tests: one is read in a moment, and a year of a device needs few."""


def run_path(run: Run) -> str:
    """Where the file of an attempt lies, from the API's folder; the place stays when a later attempt comes."""
    return f"{RUNS}/{run.device}/{folder_name(run.plan_id)}.{run.attempt}.json"


def run_file(run: StoredRun, plan: Plan | None) -> bytes:
    """The file of an attempt.

    Args:
        run: the attempt.
        plan: its nightly, with what the vendor said beforehand.

    """
    head, known = run.head, known_ids(plan, run)
    file = RunFile(
        id=head.id,
        device=head.device,
        plan_id=head.plan_id,
        attempt=head.attempt,
        started_at=head.started_at,
        finished_at=head.finished_at,
        torch_request=head.torch_request,
        torch=head.torch,
        plugin=head.plugin,
        environment=head.environment,
        stages=tuple(RunStage(**stage.model_dump(include=set(RunStage.model_fields))) for stage in head.stages),
        suites=head.suites,
        counts=run.counts(),
        outcomes=tuple(OutcomeRows(outcome=outcome, rows=rows) for outcome, rows in painted(run.states)),
        flaky=row_text(sorted(item.row for item in run.failures if item.is_flaky)),
        known=row_text(sorted(item.row for item in run.failures if item.id in known)),
        tests=f"../../{TESTS}/",
        tests_each=TESTS_EACH,
    )
    return file.to_json().encode("utf-8")


def by_age(pages: Iterable[RunPage], plans: Mapping[str, Plan]) -> list[RunPage]:
    """The attempts by the age of their nightlies, not by when they were run: one that was run again is not newer."""

    def age(page: RunPage) -> tuple[datetime, str, int]:
        plan, run = plans.get(page.run.plan_id), page.run
        return plan.created_at if plan is not None else run.started_at, run.plan_id, run.attempt

    return sorted(pages, key=age)


def runs_file(device: str, pages: Sequence[RunPage], plans: Mapping[str, Plan]) -> bytes:
    """The list of a device's attempts, oldest nightly first."""
    entries = (
        RunEntry(
            id=page.run.id,
            plan_id=page.run.plan_id,
            attempt=page.run.attempt,
            counts=page.latest,
            started_at=page.run.started_at,
            path=run_path(page.run).removeprefix(f"{RUNS}/"),
            page=f"../../../{page.path}",
        )
        for page in by_age(pages, plans)
    )
    return RunsFile(device=device, runs=tuple(entries)).to_json().encode("utf-8")


def tests_paths(table: TestTable) -> list[str]:
    """Where the tables of tests lie, from the API's folder."""
    return [f"{TESTS}/{first // TESTS_EACH}.json" for first in range(0, len(table), TESTS_EACH)]


def tests_file(table: TestTable, number: int) -> bytes:
    """One of them."""
    first = number * TESTS_EACH
    tests = table.tests[first : first + TESTS_EACH]
    entries = (TestEntry(id=test.id, suite=test.suite, capability=test.capability) for test in tests)
    return TestsFile(first=first, tests=tuple(entries)).to_json().encode("utf-8")
