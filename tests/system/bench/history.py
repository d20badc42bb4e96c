"""What a year of history costs: on disk, when a night is added to it, and when all of it is judged.

Twenty invented devices with ten thousand tests each; see ``tests/system/simulator``. Times are processor seconds of
this process, which collects garbage as the command does, each kind measured in turns with its peer.
"""

from __future__ import annotations

import gc
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import TypedDict

sys.path[:0] = [str(Path(__file__).parents[1])]

from simulator.world import Night, World  # noqa: E402 (found just above)

from ootci.cli.main import GC_THRESHOLD  # noqa: E402
from ootci.history.layout import (  # noqa: E402
    month_of,
    run_file,
    tests_file,
    write_files,
)
from ootci.history.run_file import pack_run  # noqa: E402
from ootci.history.states import count, outcome_of, state_of  # noqa: E402
from ootci.history.store import History  # noqa: E402
from ootci.history.stored import head_of  # noqa: E402
from ootci.history.tables import list_digest, write_list  # noqa: E402
from ootci.model.cluster import Signature  # noqa: E402
from ootci.model.device import RegisteredDevice  # noqa: E402
from ootci.model.outcome import FAILURES, Counts, Outcome, OutcomeName  # noqa: E402
from ootci.model.plan import Plan  # noqa: E402
from ootci.model.run import Run  # noqa: E402
from ootci.stages.judge import judge  # noqa: E402

NIGHTS, TESTS, TURNS = 365, 10_000, 5
_STATES = bytes([*(state_of(outcome, None) for outcome in OutcomeName), *(0 for _ in range(256 - len(OutcomeName)))])
"""For each byte of the simulator that of the history."""


class Row(TypedDict):
    """What one thing costs with a year behind it, and with a week.

    Attributes:
        year_s: processor seconds, median.
        week_s: the same with a week behind it.
        ratio: year to week.
        noise: spread of the ratio over the turns.

    """

    year_s: float
    week_s: float
    ratio: float
    noise: float


class Size(TypedDict):
    """How large a year is.

    Attributes:
        outcomes: how many there are.
        git_mib: a bare repository of one commit a night, packed.
        fetched_mib: what a clone of it without its past gets, which is the newest commit and all files.

    """

    outcomes: int
    git_mib: float
    fetched_mib: float


@dataclass(frozen=True)
class LargeRun:
    """A run with the tests of the large world.

    Attributes:
        head: the run without them.
        tests: each suite, the digest of the list of its tests, and their states.
        lists: the lists by digest.
        signatures: the places of the tests that failed, by signature.

    """

    head: Run
    tests: list[tuple[str, str, bytes]]
    lists: dict[str, bytes]
    signatures: dict[Signature, list[int]]

    @property
    def outcomes(self) -> int:
        """How many tests it has."""
        return sum(len(states) for _, _, states in self.tests)

    def files(self, folder: Path, device: str) -> dict[Path, bytes]:
        """Its files in a history, as those of a device."""
        name = f"{self.head.plan_id}-{device}"
        head = self.head.model_copy(update={"device": device, "id": name})
        night = folder / month_of(head.started_at) / head.plan_id
        lists = {tests_file(folder, digest): content for digest, content in self.lists.items()}
        missing = {path: content for path, content in lists.items() if not path.exists()}
        return {**missing, run_file(night, device, head.attempt): pack_run(head, self.tests, {}, self.signatures)}


class Feed:
    """The nights of a large world; what runs say besides their tests comes from a small one, which is faster."""

    def __init__(self, nights: int, tests: int) -> None:
        self._small = World(1, nights=nights)
        self._large = World(1, nights=nights, tests=tests)
        self.names = [maker.name for maker in self._small.makers]
        self._cases = sorted(enumerate(self._large.cases), key=lambda item: (item[1].suite, item[1].id))
        self._signatures = [Signature.of(case.title) for _, case in self._cases]
        self._lists: dict[tuple[str, tuple[int, ...]], tuple[str, bytes]] = {}
        self._newest: dict[str, bytes] = {}

    def append(self, number: int, folder: Path) -> int:
        """Add a night's files; returns how many outcomes it had."""
        night, outcomes = self.night(number), 0
        History(folder).append_plan(night.plan)
        for run in night.arrivals:
            made = self.large_run(run, number)
            outcomes += made.outcomes
            write_files(made.files(folder, run.device))
        return outcomes

    def large_run(self, run: Run, number: int) -> LargeRun:
        """A run of the small world with the tests of the large one."""
        codes = self._codes_of(run, number) if run.outcomes else None
        states = codes.translate(_STATES) if codes is not None else bytes(len(self._cases))
        named: dict[Signature, list[int]] = {}
        tests, lists, place, counts = [], {}, 0, {}
        for suite, items in groupby(enumerate(self._cases), key=lambda item: item[1][1].suite):
            rows = [(order, number) for order, (number, _) in items if states[number]]
            if not rows:
                continue
            own = bytes(states[number] for _, number in rows)
            digest, content = self._list(suite, [order for order, _ in rows])
            for order, number in rows:
                if outcome_of(states[number]) in FAILURES:
                    named.setdefault(self._signatures[order], []).append(place)
                place += 1
            tests.append((suite, digest, own))
            lists[digest] = content
            counts[suite] = Counts(**{outcome.value: size for outcome, size in count(own).items()})
        suites = tuple(
            report.model_copy(update={"counts": counts.get(report.suite, Counts())}) for report in run.suites
        )
        return LargeRun(head_of(run.model_copy(update={"suites": suites})), tests, lists, named)

    def _codes_of(self, run: Run, number: int) -> bytes | None:
        """What came of the large world's tests. Where it has none on a night of the small one, those of the night
        before: collect never makes a complete report of no tests.
        """
        if codes := self._large.codes(self.names.index(run.device), number):
            self._newest[run.device] = codes
        return self._newest.get(run.device)

    def whole_run(self, run: Run, number: int) -> Run:
        """The same as a run that a device reports."""
        made = self.large_run(run, number)
        cases = {suite: iter([case for _, case in self._cases if case.suite == suite]) for suite, _, _ in made.tests}
        outcomes = [
            Outcome(case.id, suite, outcome_of(state) or OutcomeName.NOT_RUN, case.capability, case.title, 0.01)
            for suite, _, states in made.tests
            for state, case in zip(states, cases[suite], strict=False)
        ]
        return run.model_copy(update={"outcomes": tuple(outcomes), "suites": made.head.suites})

    def _list(self, suite: str, orders: list[int]) -> tuple[str, bytes]:
        """The list of some tests of a suite, and its digest."""
        key = suite, tuple(orders)
        if key not in self._lists:
            cases = [self._cases[order][1] for order in orders]
            content = write_list(
                [Outcome(case.id, case.suite, OutcomeName.PASSED, case.capability, case.title) for case in cases]
            )
            self._lists[key] = list_digest(content), content
        return self._lists[key]

    def registry(self) -> tuple[RegisteredDevice, ...]:
        """The devices at the end."""
        return self._small.registry(self._small.nights - 1)

    def night(self, number: int) -> Night:
        """A night of the small world."""
        return self._small.night(number)

    def now(self, number: int) -> datetime:
        """When the page of a night is made."""
        return self.night(number).now


def rows() -> tuple[dict[str, Row], Size]:
    """Measure all of it."""
    gc.set_threshold(GC_THRESHOLD)
    feed, last = Feed(NIGHTS, TESTS), NIGHTS - 1
    with tempfile.TemporaryDirectory() as folder:
        year, week, git = Path(folder) / "year", Path(folder) / "week", Path(folder) / "git"
        outcomes = _fill(feed, year, range(last), git)
        size = _size(git, outcomes)
        _fill(feed, week, range(last - 7, last), None)
        night = feed.night(last)
        arriving = night.plan, [feed.whole_run(run, last) for run in night.arrivals]
        measured = {
            "append a night": _compare(lambda path: _append_once(arriving, path), year, week),
            "judge all": _compare(lambda path: judge(feed.registry(), History(path), feed.now(last - 1)), year, week),
        }
    return measured, size


def _fill(feed: Feed, folder: Path, numbers: range, git: Path | None) -> int:
    outcomes = 0
    if git is not None:
        subprocess.run(["git", "init", "--quiet", "--bare", str(git)], check=True)
    for number in numbers:
        outcomes += feed.append(number, folder)
        if git is not None:
            _commit(git, folder, number)
    return outcomes


def _commit(git: Path, folder: Path, number: int) -> None:
    settings = ("user.name=bench", "user.email=bench@localhost", "gc.auto=0")
    run = ["git", f"--git-dir={git}", f"--work-tree={folder}", *(part for one in settings for part in ("-c", one))]
    subprocess.run([*run, "add", "--all", "."], check=True)
    subprocess.run([*run, "commit", "--quiet", "--message", f"night {number}"], check=True)


def _size(git: Path, outcomes: int) -> Size:
    subprocess.run(["git", f"--git-dir={git}", "gc", "--quiet", "--prune=now"], check=True)
    fetched = git.with_name("fetched")
    clone = ["git", "clone", "--quiet", "--bare", "--depth=1", git.as_uri(), str(fetched)]
    subprocess.run(clone, check=True)
    return Size(outcomes=outcomes, git_mib=_packs(git), fetched_mib=_packs(fetched))


def _packs(git: Path) -> float:
    return sum(path.stat().st_size for path in (git / "objects" / "pack").iterdir()) / 2**20


def _append_once(arriving: tuple[Plan, list[Run]], folder: Path) -> None:
    history = History(folder)
    plan, runs = arriving
    with history.batch():
        history.append_plan(plan)
        for run in runs:
            history.append_run(run)


def _compare(work: Callable[[Path], object], year: Path, week: Path) -> Row:
    """Processor seconds of some work on each of two histories, in turns, each time on a copy."""
    seconds: dict[Path, list[float]] = {year: [], week: []}
    for _ in range(TURNS):
        for source, taken in seconds.items():
            with tempfile.TemporaryDirectory() as copy:
                target = Path(shutil.copytree(source, Path(copy) / "history"))
                gc.collect()
                begun = time.process_time()
                work(target)
                taken.append(time.process_time() - begun)
    ratios = [one / other for one, other in zip(seconds[year], seconds[week], strict=True)]
    return Row(
        year_s=median(seconds[year]),
        week_s=median(seconds[week]),
        ratio=median(ratios),
        noise=(max(ratios) - min(ratios)) / median(ratios),
    )


def lines(measured: dict[str, Row], size: Size) -> list[str]:
    """The measurements as text."""
    found = [
        f"history, {name:<27}{row['year_s']:>9.2f} s{row['week_s']:>9.2f} s{row['ratio']:>8.2f}{row['noise']:>8.0%}"
        for name, row in measured.items()
    ]
    text = f"{size['outcomes'] / 1e6:.1f} M outcomes: {size['git_mib']:.2f} MiB in git"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [*found, f"history, a year{'':<23}{text}, {size['fetched_mib']:.2f} MiB fetched; {peak:.0f} MiB of memory"]
