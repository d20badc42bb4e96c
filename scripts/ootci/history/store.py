"""The history folder: what every nightly expected and what every device reported, encoded.

Layout, in which lines are only ever added (``ootci history squash`` and ``gc`` excepted):

- ``format.json`` names the format's version.
- ``tests.jsonl``: every test of every device, a line each.
- ``<YYYY-MM>/plans.jsonl``, ``<YYYY-MM>/<device>.runs.jsonl``: the nightlies planned in that month and their runs, a
  line each, and ``<YYYY-MM>/values.jsonl``: the values that those lines share.
- ``details/<YYYY-MM>/<device>.<plan id>.<attempt>.texts.json.gz`` and ``.measures.json.gz``: what a run says at length,
  kept for a while.

A record's own line is written last, so that whoever is ended half-way leaves the history as it was.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

from ootci.errors import HistoryConflict, HistoryCorrupt
from ootci.model.outcome import OutcomeName
from ootci.model.plan import Plan
from ootci.model.record import write_atomic
from ootci.model.run import Run

from .details import Measures, Texts, details_of, read_details, whole, write_details
from .lines import add_lines, read_lines
from .plan_lines import kept, plan_id_of, read_plan, write_plan
from .run_lines import read_line, write_line
from .signature import signature_of
from .stored import StoredRun, stored
from .tables import TestTable, ValueTable

FORMAT = {"format": "ootci-history", "version": 2}
MONTH = "[0-9][0-9][0-9][0-9]-[0-9][0-9]"


class History:
    """A history folder; a missing one is empty.

    What is read is kept in memory, so that one object is for one command.

    Args:
        folder: the folder, ``data/`` on a laptop and a checkout of the branch ``data`` on GitHub.

    Raises:
        HistoryCorrupt: the folder is not a history of a version that this tool reads.

    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._values: dict[str, ValueTable] = {}
        self._plans: dict[Path, list[Plan]] = {}
        marker = folder / "format.json"
        if marker.exists():
            try:
                found = json.loads(marker.read_text(encoding="utf-8"))
            except ValueError:
                found = None
            if found != FORMAT:
                raise HistoryCorrupt(
                    "the folder holds a history of another format",
                    where=str(marker),
                    fix="use the version of ootci that wrote it, or another folder with --history",
                )

    def append_plan(self, plan: Plan) -> bool:
        """Add what a nightly expected; false when it was there already.

        Raises:
            HistoryConflict: another plan has the same id.
            HistoryCorrupt: a record cannot be read back.

        """
        month = f"{plan.created_at.astimezone(timezone.utc):%Y-%m}"
        path = self.folder / month / "plans.jsonl"
        if plan.id in self._places:
            if self._plan(*self._places[plan.id]) == kept(plan):
                return False
            raise _conflict(plan.id, path)
        line = write_plan(plan, self._table(month))
        self._mark()
        self._table(month).save()
        add_lines(path, [line])
        self._plans.pop(path, None)
        del self._places
        return True

    def append_run(self, run: Run) -> bool:
        """Add what a device reported; false when it was there already.

        Raises:
            HistoryConflict: another run has the same device, nightly and attempt, or its nightly is not in the history.
            HistoryCorrupt: a record cannot be read back.

        """
        signatures = {
            item.id: found
            for item in run.outcomes
            if (item.is_failure or item.outcome is OutcomeName.XFAILED)
            and (found := signature_of(run.device, item.outcome, item.message, item.text, test_id=item.id)) is not None
        }
        new = stored(run, self.tests, signatures)
        return self._append(new, details_of(run, self.tests.rows_of(run.outcomes)))

    def take(self, run: StoredRun, other: History) -> bool:
        """Add a run of another history, with the details that are still kept there; false when it was there already.

        Raises:
            HistoryConflict, HistoryCorrupt: as for :meth:`append_run`.

        """
        full = other.whole(run)
        signatures = {run.tests[row].id: signature for row, signature in run.signatures.items()}
        new = stored(full, self.tests, signatures)
        details = details_of(full, self.tests.rows_of(full.outcomes))
        return self._append(new, [found for found in details if other._details(run, type(found)).exists()])

    def _append(self, new: StoredRun, details: Sequence[Texts | Measures]) -> bool:
        month = self._month(new.head)
        path = self._path(month, new.head.device)
        earlier = self._read(path, new.head.device)
        for old in earlier:
            if (old.head.plan_id, old.head.attempt) == (new.head.plan_id, new.head.attempt):
                if self._is(old, new, details):
                    return False
                raise _conflict(f"{new.head.id}, attempt {new.head.attempt}", path)
        line = write_line(new, self.tests, self._table(month), [old.states for old in earlier])
        self._mark()
        self.tests.save()
        self._table(month).save()
        for found in details:
            write_details(found, self._details(new, type(found)))
        add_lines(path, [line])
        return True

    def plans(self) -> tuple[Plan, ...]:
        """Every nightly, oldest first.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        plans = [self._plan(*place) for place in self._places.values()]
        return tuple(sorted(plans, key=lambda plan: (plan.created_at, plan.id)))

    def stored_runs(self, device: str) -> tuple[StoredRun, ...]:
        """Every attempt of a device, oldest first, without details.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        runs = [run for path in self._files(device) for run in self._read(path, device)]
        return tuple(sorted(runs, key=_age))

    def newest_stored(self, device: str) -> Iterator[StoredRun]:
        """The attempts of a device, newest nightly first, read a month at a time, without details.

        Raises:
            HistoryCorrupt: a record cannot be read back.

        """
        for path in reversed(self._files(device)):
            yield from sorted(self._read(path, device), key=_age, reverse=True)

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

    def whole(self, run: StoredRun) -> Run:
        """A run with the details that are still kept.

        Raises:
            HistoryCorrupt: the details cannot be read back.

        """
        return whole(
            run, read_details(Texts, self._details(run, Texts)), read_details(Measures, self._details(run, Measures))
        )

    def devices(self) -> tuple[str, ...]:
        """Names of all devices that ever reported, sorted."""
        return tuple(
            sorted({path.name.removesuffix(".runs.jsonl") for path in self.folder.glob(f"{MONTH}/*.runs.jsonl")})
        )

    def _is(self, old: StoredRun, new: StoredRun, details: Sequence[Texts | Measures]) -> bool:
        """Whether a stored run is the given one, as far as its details are still kept."""
        same = old.head == new.head and old.attempts == new.attempts
        if not same or old.states.rstrip(b"\0") != new.states.rstrip(b"\0"):
            return False
        there = [read_details(type(given), self._details(old, type(given))) for given in details]
        return all(found is None or found == given for found, given in zip(there, details, strict=True))

    @cached_property
    def tests(self) -> TestTable:
        """Every test that was ever in a run."""
        return TestTable(self.folder / "tests.jsonl")

    def _table(self, month: str) -> ValueTable:
        if month not in self._values:
            self._values[month] = ValueTable(self.folder / month / "values.jsonl")
        return self._values[month]

    @cached_property
    def _places(self) -> dict[str, tuple[Path, int]]:
        """Where each plan is: its file, and the number of its line."""
        return {
            plan_id_of(line, f"{path}:{number + 1}"): (path, number)
            for path in sorted(self.folder.glob(f"{MONTH}/plans.jsonl"))
            for number, line in enumerate(read_lines(path))
        }

    def _plan(self, path: Path, number: int) -> Plan:
        if path not in self._plans:
            table = self._table(path.parent.name)
            self._plans[path] = [
                read_plan(line, table, f"{path}:{place + 1}") for place, line in enumerate(read_lines(path))
            ]
        return self._plans[path][number]

    def _month(self, run: Run) -> str:
        """The month of a run is that of its nightly, so that it can be found however late it arrives."""
        if run.plan_id in self._places:
            return self._places[run.plan_id][0].parent.name
        raise HistoryConflict(
            f"the nightly {run.plan_id} of the run {run.id} is not in the history",
            where=str(self.folder),
            fix="append its plan.json first, with `ootci history append`",
        )

    def _files(self, device: str) -> list[Path]:
        return sorted(self.folder.glob(f"{MONTH}/{device}.runs.jsonl"))

    def _path(self, month: str, device: str) -> Path:
        return self.folder / month / f"{device}.runs.jsonl"

    def _details(self, run: StoredRun, kind: type[Texts | Measures]) -> Path:
        month = self._month(run.head)
        name = f"{run.head.device}.{run.head.plan_id}.{run.head.attempt}.{kind.__name__.lower()}.json.gz"
        return self.folder / "details" / month / name

    def _read(self, path: Path, device: str) -> list[StoredRun]:
        """The runs of a file, in the order of arrival."""
        table = self._table(path.parent.name)
        states: list[bytes] = []
        runs: list[StoredRun] = []
        for number, line in enumerate(read_lines(path)):
            run = read_line(device, line, self.tests, table, states, f"{path}:{number + 1}")
            states.append(run.states)
            runs.append(run)
        return runs

    def _mark(self) -> None:
        marker = self.folder / "format.json"
        if not marker.exists():
            write_atomic(marker, (json.dumps(FORMAT) + "\n").encode())


def _age(run: StoredRun) -> tuple[datetime, str, int]:
    return run.head.started_at, run.head.plan_id, run.head.attempt


def _conflict(name: str, path: Path) -> HistoryConflict:
    return HistoryConflict(
        f"a different record is already stored as `{name}`",
        where=str(path),
        fix="give the new attempt a number of its own; what is stored stays",
    )
