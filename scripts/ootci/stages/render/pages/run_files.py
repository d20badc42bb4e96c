"""The outcome of every test of every run, for programs: a small file for each attempt, and tables of tests beside them.

Rows are those of the history's table of tests, which all devices share and to which lines are only added. So a run's
file does not change, nothing is written twice, and two runs can be compared row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from ootci.history.expectations import known_ids
from ootci.history.states import outcome_letters
from ootci.history.stored import StoredRun
from ootci.history.tables import TestTable
from ootci.model.build import AnyStage, StageStatus
from ootci.model.device import Device
from ootci.model.difference import RunFacts
from ootci.model.outcome import PassRate
from ootci.model.plan import Plan
from ootci.model.record import Record, Time, compact_record
from ootci.model.run import Run
from ootci.model.verdict import DeviceVerdict, VerdictName

from ..facts import torch_view
from ..links import RUNS, device_path, folder_name
from ..page_maker import PageMaker
from ..publish import File
from ..run_pages import RunPage
from .published import SCHEMA_VERSION, Compact, Published, api_file

TESTS = "tests"
TESTS_EACH = 4096
"""Rows in one file of tests: one is read in a moment, and a year of a device needs few."""


class RunEntry(Record):
    """One attempt of a device, and its address."""

    id: str
    """Identity of the run; attempts share it."""
    plan_id: str
    """The nightly that it belongs to."""
    attempt: int
    """1 for the first attempt."""
    counts: bool
    """Whether it is the last attempt of its nightly, which is the one that counts."""
    started_at: Time
    """When the first stage started."""
    verdict: VerdictName | None
    """The verdict on the nightly, where the attempt counts and the device was judged by it."""
    pass_rate: PassRate
    """How many of the executed tests passed."""
    torch: str | None
    """The version of torch that was tested."""
    instead_of: str | None
    """The torch that was requested, where another one was tested."""
    path: str
    """Address of its file."""
    page: str
    """Address of its page, or of its row in the list of the device's runs."""


class RunsFile(Compact):
    """runs/<device>.json: every attempt of a device."""

    device: str
    """Name of the device."""
    runs: tuple[RunEntry, ...]
    """Oldest nightly first, and of a nightly the first attempt first."""


class RunStage(Record):
    """One stage of a run."""

    name: AnyStage
    """The stage."""
    status: StageStatus = StageStatus.PASSED
    """How it ended."""
    duration: float
    """Seconds that it took."""
    reason: str | None = None
    """One line: why it did not pass."""
    only_tests: bool = False
    """Whether failing tests are all that was wrong with it."""


class RunFile(RunFacts, Compact):
    """runs/<device>/<nightly>.<attempt>.json: the outcome of every test of one attempt. It does not change.

    A key that is missing has its default in the schema, such as a count of 0.
    """

    schema_version: int
    """Version of this file's schema."""
    finished_at: Time
    """When the last stage ended."""
    stages: tuple[RunStage, ...]
    """Every stage, in order, run or not."""
    outcomes: str
    """A letter for the test of each row, from row 0 on, with a count after it where equal letters follow: `p3.f` are
    three tests that passed, one that is not in the run, and one that failed. `p` passed, `f` failed, `e` error, `c`
    crashed, `t` timed out, `s` skipped, `x` xfailed, `X` xpassed, `u` unsupported, `n` not run, `.` not in the run, as
    are all later rows."""
    flaky: tuple[int, ...]
    """Rows of the failing tests that passed on retry."""
    known: tuple[int, ...]
    """Rows of the failing tests that the vendor knew of on that night."""
    tests: str
    """Address of the folder that tells which test a row is: row r is in its file `<n>.json` with n = r divided by
    `tests_each`, rounded down."""
    tests_each: int
    """How many rows each of those files has."""

    def to_json(self) -> str:
        """The text without defaults, which are a fifth of it."""
        return self.model_dump_json(exclude_defaults=True) + "\n"


_OF_THE_RUN = RunFile.model_fields.keys() & Run.model_fields.keys() - {"schema_version", "stages", "outcomes"}


@compact_record
class TestEntry:
    """A test, whichever devices it ran on."""

    __test__ = False  # not a test of pytest, whatever its name

    id: str
    """The test."""
    suite: str
    """The suite that it belongs to."""
    capability: str | None
    """The capability that it proves."""


class TestsFile(Published):
    """tests/<n>.json: which tests some rows are. A row keeps its test; new tests get new rows.

    A test whose suite, capability or title changed has several rows, of which a run has one.
    """

    __test__ = False  # not a test of pytest, whatever its name

    first: int
    """The row of the first test here; the others follow. Only the last of these files can have fewer than
    `tests_each`, and grow."""
    tests: tuple[TestEntry, ...]
    """In the order of rows."""


def run_path(run: Run | RunFile) -> str:
    """Address of the file of an attempt, from the API's folder; the place stays when a later attempt comes."""
    return f"{RUNS}/{run.device}/{folder_name(run.plan_id)}.{run.attempt}.json"


def run_file(run: StoredRun, plan: Plan | None) -> RunFile:
    """The file of an attempt; ``plan`` is its nightly, with the vendor's declarations."""
    head, known = run.head, known_ids(plan, run)
    return RunFile(
        schema_version=SCHEMA_VERSION,
        **{name: getattr(head, name) for name in _OF_THE_RUN},
        stages=tuple(RunStage(**stage.model_dump(include=set(RunStage.model_fields))) for stage in head.stages),
        counts=run.counts(),
        outcomes=outcome_letters(run.states),
        flaky=tuple(sorted(item.row for item in run.failures if item.is_flaky)),
        known=tuple(sorted(item.row for item in run.failures if item.id in known)),
        tests=f"../../{TESTS}/",
        tests_each=TESTS_EACH,
    )


def by_age(pages: Iterable[RunPage], plans: Mapping[str, Plan]) -> list[RunPage]:
    """The attempts by the age of their nightlies, not by when they were run: one that was re-run is not newer."""

    def age(page: RunPage) -> tuple[datetime, str, int]:
        plan, run = plans.get(page.run.plan_id), page.run
        return plan.created_at if plan is not None else run.started_at, run.plan_id, run.attempt

    return sorted(pages, key=age)


def runs_files(
    maker: PageMaker, device: Device, verdict: DeviceVerdict, pages: Sequence[RunPage], plans: Mapping[str, Plan]
) -> Iterator[File]:
    """The list of a device's attempts, oldest nightly first: the page and its file."""
    verdicts = {night.run_id: night.verdict for night in verdict.history}
    runs = tuple(_entry(page, verdicts.get(page.run.id) if page.latest else None) for page in by_age(pages, plans))
    file = RunsFile(device=device.name, runs=runs)
    yield api_file(f"{RUNS}/{device.name}.json", file)
    yield maker.show(device_path(device.name, RUNS), "device_runs.html", device=device, page=file)


def _entry(page: RunPage, verdict: VerdictName | None) -> RunEntry:
    run = page.run
    torch = torch_view(run.torch_request, run.torch)
    return RunEntry(
        id=run.id,
        plan_id=run.plan_id,
        attempt=run.attempt,
        counts=page.latest,
        started_at=run.started_at,
        verdict=verdict,
        pass_rate=page.stored.counts().pass_rate,
        torch=torch.version,
        instead_of=run.torch_request.wanted if torch.marker else None,
        path=run_path(run).removeprefix(f"{RUNS}/"),
        page=f"../../../{page.path}",
    )


def tests_files(table: TestTable) -> Iterator[File]:
    """The tables of tests."""
    for first in range(0, len(table), TESTS_EACH):
        tests = table.tests[first : first + TESTS_EACH]
        entries = (TestEntry(id=test.id, suite=test.suite, capability=test.capability) for test in tests)
        yield api_file(f"{TESTS}/{first // TESTS_EACH}.json", TestsFile(first=first, tests=tuple(entries)))
