"""Reading a history folder; its layout is described in ``store``."""

from __future__ import annotations

import glob
from collections.abc import Collection, Iterator
from datetime import datetime
from functools import cached_property
from itertools import chain
from pathlib import Path

from ootci.errors import HistoryConflict
from ootci.model.plan import Plan
from ootci.model.run import Run

from .details import Measures, Texts, read_details, whole
from .layout import (
    MONTH,
    RUNS,
    check_format,
    details_file,
    device_of,
    values_file,
)
from .lines import read_lines
from .past_run import PastRun
from .plan_lines import plan_id_of, read_plan
from .run_file import RunFile
from .stored import StoredRun
from .tables import TestTable, ValueTable


class HistoryReader:
    """A history folder; a missing one is empty.

    What is read is kept in memory, so that one object is for one command.

    Args:
        folder: the folder, ``data/`` on a laptop and a checkout of the branch ``data`` on GitHub.

    Raises:
        HistoryOutdated: the folder is a history of a version before this one.
        HistoryCorrupt: it is one of a version that this tool does not read, or was left half-way by another command.

    """

    def __init__(self, folder: Path) -> None:
        check_format(folder)
        self.folder = folder
        self._values: dict[str, ValueTable] = {}
        self._plans: dict[Path, list[Plan]] = {}

    def plans(self) -> tuple[Plan, ...]:
        """Every nightly, oldest first.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        plans = [self._plan(*place) for place in self._places.values()]
        return tuple(sorted(plans, key=_age_of_plan))

    def stored_runs(self, device: str) -> tuple[StoredRun, ...]:
        """Every attempt of a device, oldest first, without details.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        runs = [run for path in self.run_files(device) for run in self.run_file(path).runs()]
        return tuple(sorted(runs, key=_age_of_run))

    def past_runs(self, device: str) -> tuple[PastRun, ...]:
        """Every attempt of a device, oldest first, each to be read when it is asked for.

        Raises:
            HistoryCorrupt: a line is no run.

        """
        runs = [run for path in self.run_files(device) for run in self.run_file(path).past()]
        return tuple(sorted(runs, key=lambda run: run.age))

    def attempts_by_nightly(self, device: str) -> Iterator[tuple[StoredRun, ...]]:
        """The attempts of each nightly that a device reported on, the last attempt first, of the newest nightly first.

        They are read a month at a time, without details. A nightly that was run again later stays where it was.

        Raises:
            HistoryConflict: the nightly of a run is not in the history.
            HistoryCorrupt: a record cannot be read back.

        """
        for path in reversed(self.run_files(device)):
            nightlies: dict[str, list[StoredRun]] = {}
            for run in self.run_file(path).runs():
                nightlies.setdefault(run.head.plan_id, []).append(run)
            for runs in sorted(nightlies.values(), key=lambda runs: self._planned(runs[0].head), reverse=True):
                yield tuple(sorted(runs, key=lambda run: run.head.attempt, reverse=True))

    def newest_stored(self, device: str) -> Iterator[StoredRun]:
        """The attempts of a device one by one, newest nightly first; otherwise as :meth:`attempts_by_nightly`."""
        return chain.from_iterable(self.attempts_by_nightly(device))

    def runs(self, device: str) -> tuple[Run, ...]:
        """Every attempt of a device, oldest first, with the details that are still kept.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        return tuple(self.whole(run) for run in self.stored_runs(device))

    def newest_runs(self, device: str) -> Iterator[Run]:
        """The attempts of a device, newest nightly first, read one by one, with the details that are still kept.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        return (self.whole(run) for run in self.newest_stored(device))

    def whole(self, run: StoredRun, *, passed_of: Collection[str] | None = None) -> Run:
        """A run with the details that are still kept; of the tests that passed those of some suites, or all.

        Raises:
            HistoryCorrupt: the details cannot be read back.

        """
        texts = read_details(Texts, self.details_path(run, Texts))
        return whole(run, texts, read_details(Measures, self.details_path(run, Measures)), passed_of=passed_of)

    def devices(self) -> tuple[str, ...]:
        """Names of all devices that ever reported, sorted."""
        return tuple(sorted({device_of(path) for path in self.run_files()}))

    @cached_property
    def tests(self) -> TestTable:
        """Every test of every device."""
        return TestTable(self.folder / "tests.jsonl")

    def values(self, month: str) -> ValueTable:
        """The values that lines of a month share."""
        if month not in self._values:
            self._values[month] = ValueTable(values_file(self.folder, month))
        return self._values[month]

    @cached_property
    def _places(self) -> dict[str, tuple[Path, int]]:
        """Where each plan is: its file, and the number of its line."""
        return {
            plan_id_of(line, f"{path}:{number + 1}"): (path, number)
            for path in self.plan_files()
            for number, line in enumerate(read_lines(path))
        }

    def _plan(self, path: Path, number: int) -> Plan:
        return self.plans_of(path)[number]

    def plan_files(self) -> list[Path]:
        """The files of nightlies, oldest month first."""
        return sorted(self.folder.glob(f"{MONTH}/plans.jsonl"))

    def plans_of(self, path: Path) -> list[Plan]:
        """The nightlies of one of them, in the order in which they were added.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        if path not in self._plans:
            table = self.values(path.parent.name)
            self._plans[path] = [
                read_plan(line, table, f"{path}:{number + 1}") for number, line in enumerate(read_lines(path))
            ]
        return self._plans[path]

    def month_of(self, plan_id: str, run_id: str) -> str:
        """The month of a run is that of its nightly, so that it can be found however late it arrives.

        Raises:
            HistoryConflict: the nightly is not in the history.

        """
        return self._place(plan_id, run_id)[0].parent.name

    def _month(self, run: Run) -> str:
        return self.month_of(run.plan_id, run.id)

    def _planned(self, run: Run) -> tuple[datetime, str]:
        """How old a run's nightly is."""
        return _age_of_plan(self._plan(*self._place(run.plan_id, run.id)))

    def _place(self, plan_id: str, run_id: str) -> tuple[Path, int]:
        if plan_id in self._places:
            return self._places[plan_id]
        raise HistoryConflict(
            f"the nightly {plan_id} of the run {run_id} is not in the history",
            where=str(self.folder),
            fix="append its plan.json first, with `ootci history append`",
        )

    def run_files(self, device: str = "*") -> list[Path]:
        """The files of a device's runs, or of all devices', oldest month first."""
        return sorted(self.folder.glob(f"{MONTH}/{glob.escape(device) if device != '*' else device}{RUNS}"))

    def run_file(self, path: Path) -> RunFile:
        """One of them."""
        return RunFile(path, device_of(path), self.tests, self.values(path.parent.name))

    def details_path(self, run: StoredRun, kind: type[Texts | Measures]) -> Path:
        """Where a run's details lie, or would."""
        return self._details_path(self._month(run.head), run.head, kind)

    def _details_path(self, month: str, run: Run | PastRun, kind: type[Texts | Measures]) -> Path:
        return details_file(self.folder, month, run.device, run.plan_id, run.attempt, _kind(kind))


def _kind(kind: type[Texts | Measures]) -> str:
    return kind.__name__.lower()


def _age_of_plan(plan: Plan) -> tuple[datetime, str]:
    return plan.created_at, plan.id


def _age_of_run(run: StoredRun) -> tuple[datetime, str, int]:
    return run.head.started_at, run.head.plan_id, run.head.attempt
