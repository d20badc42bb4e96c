"""What a year of history costs: on disk, when a night is added to it, and when all of it is judged.

Twenty invented devices with ten thousand tests each; see ``tests/system/simulator``. Times are processor seconds of
this process, each kind measured in turns with its peer.
"""

from __future__ import annotations

import gc
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import TypedDict

sys.path[:0] = [str(Path(__file__).parents[1])]

from simulator.world import Night, World  # noqa: E402 (found just above)

from ootci.history.states import state_of  # noqa: E402
from ootci.history.store import History  # noqa: E402
from ootci.history.stored import StoredRun, stored  # noqa: E402
from ootci.model.device import RegisteredDevice  # noqa: E402
from ootci.model.outcome import Outcome, OutcomeName  # noqa: E402
from ootci.model.run import Run  # noqa: E402
from ootci.model.signature import Signature  # noqa: E402
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
        facts_mib: all files but details, each packed as git packs a file.
        git_mib: a bare repository of one commit a night, packed.

    """

    outcomes: int
    facts_mib: float
    git_mib: float


class Feed:
    """The nights of a large world; what runs say besides their tests comes from a small one, which is faster."""

    def __init__(self, nights: int, tests: int) -> None:
        self._small = World(1, nights=nights)
        self._large = World(1, nights=nights, tests=tests)
        self.names = [maker.name for maker in self._small.makers]
        self._signatures = [Signature.of(case.title) for case in self._large.cases]

    def table(self, history: History) -> None:
        """Give each test the row that is its number."""
        cases = self._large.cases
        rows = history.tests.rows_of(
            Outcome(
                id=case.id, suite=case.suite, capability=case.capability, title=case.title, outcome=OutcomeName.PASSED
            )
            for case in cases
        )
        if rows != list(range(len(cases))):
            raise ValueError("the history had tests already")

    def append(self, number: int, history: History) -> int:
        """Append a night; returns how many outcomes it had."""
        night, outcomes = self.night(number), 0
        history.append_plan(night.plan)
        for run in night.arrivals:
            made = self.large_run(run, number, history)
            outcomes += sum(report.counts.total for report in made.head.suites)
            history.append_stored(made)
        return outcomes

    def large_run(self, run: Run, number: int, history: History) -> StoredRun:
        """A run of the small world with the tests of the large one."""
        codes = self._large.codes(self.names.index(run.device), number) if run.outcomes else None
        states = codes.translate(_STATES) if codes is not None else b""
        made = replace(stored(run), tests=history.tests, states=states, attempts={}, signatures={})
        made = replace(made, signatures={item.row: self._signatures[item.row] for item in made.failures})
        suites = tuple(report.model_copy(update={"counts": made.counts((report.suite,))}) for report in run.suites)
        return replace(made, head=made.head.model_copy(update={"suites": suites}))

    def registry(self) -> tuple[RegisteredDevice, ...]:
        """The devices at the end."""
        return self._small.registry(self._small.nights - 1)

    def night(self, number: int) -> Night:
        """A night of the small world."""
        return self._small.night(number)

    def now(self, number: int) -> datetime:
        """When the page of a night is made."""
        return self.night(number).now


def rows(nights: int = NIGHTS, tests: int = TESTS) -> tuple[dict[str, Row], Size]:
    """Measure all of it."""
    feed = Feed(nights, tests)
    with tempfile.TemporaryDirectory() as folder:
        year, week, git = Path(folder) / "year", Path(folder) / "week", Path(folder) / "git"
        outcomes = _fill(feed, year, range(nights - 1), git)
        size = _size(year, git, outcomes)
        _fill(feed, week, range(nights - 8, nights - 1), None)
        last = nights - 1
        measured = {
            "append a night": _compare(lambda path: _append_once(feed, last, path), year, week),
            "judge all": _compare(lambda path: judge(feed.registry(), History(path), feed.now(last - 1)), year, week),
        }
    return measured, size


def _fill(feed: Feed, folder: Path, numbers: range, git: Path | None) -> int:
    outcomes = 0
    if git is not None:
        subprocess.run(["git", "init", "--quiet", "--bare", str(git)], check=True)
    history = History(folder)
    feed.table(history)
    for number in numbers:
        with history.together():
            outcomes += feed.append(number, history)
        history = History(folder)
        if git is not None:
            _commit(git, folder, number)
    return outcomes


def _commit(git: Path, folder: Path, number: int) -> None:
    run = [
        "git",
        f"--git-dir={git}",
        f"--work-tree={folder}",
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@localhost",
    ]
    subprocess.run([*run, "-c", "gc.auto=0", "add", "--all", "."], check=True)
    subprocess.run([*run, "-c", "gc.auto=0", "commit", "--quiet", "--message", f"night {number}"], check=True)


def _size(folder: Path, git: Path, outcomes: int) -> Size:
    files = [path for path in folder.rglob("*") if path.is_file() and "details" not in path.parts]
    facts = sum(len(zlib.compress(path.read_bytes())) for path in files)
    subprocess.run(["git", f"--git-dir={git}", "gc", "--quiet", "--prune=now"], check=True)
    packs = sum(path.stat().st_size for path in (git / "objects" / "pack").iterdir())
    return Size(outcomes=outcomes, facts_mib=facts / 2**20, git_mib=packs / 2**20)


def _append_once(feed: Feed, number: int, folder: Path) -> None:
    history = History(folder)
    with history.together():
        feed.append(number, history)


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
    text = (
        f"{size['outcomes'] / 1e6:.1f} M outcomes: {size['facts_mib']:.2f} MiB packed, {size['git_mib']:.2f} MiB in git"
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [*found, f"history, a year{'':<23}{text}, a commit a night; {peak:.0f} MiB of memory"]


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines(*rows())) + "\n")
