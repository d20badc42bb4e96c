"""The history folder: what every nightly expected and what every device reported, encoded.

Layout, in which lines are only ever added (``ootci history gc`` excepted, which removes old details):

- ``format.json`` names the format's version.
- ``tests.jsonl``: every test of every device, a line each.
- ``<YYYY-MM>/plans.jsonl``, ``<YYYY-MM>/<device>.runs.jsonl``: the nightlies planned in that month and their runs, a
  line each, and ``<YYYY-MM>/values.jsonl``: the values that those lines share.
- ``details/<YYYY-MM>/<device>.<plan id>.<attempt>.texts.json.gz`` and ``.measures.json.gz``: what a run says at length,
  kept for a while.

A record's own line is written last, so that whoever is ended half-way leaves the history as it was.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from datetime import timezone
from pathlib import Path

from ootci.errors import HistoryConflict, NotANightly
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import Run

from .details import Measures, Texts, details_of, packed, read_details
from .layout import FORMAT, format_file, plans_file, runs_file
from .lines import add_lines, write_files
from .plan_lines import kept, write_plan
from .reader import HistoryReader
from .run_file import RunFile
from .signature import signature_of
from .stored import StoredRun, stored
from .tables import TestTable, ValueTable

_NAMED = FAILURES | {OutcomeName.XFAILED}
"""The outcomes of tests that have a signature, if they said anything."""


class History(HistoryReader):
    """A history folder that can be added to.

    Args and raises: as for :class:`HistoryReader`.

    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._appended: dict[Path, RunFile] = {}
        self._lines: dict[Path, list[bytes]] = {}
        self._details: dict[Path, bytes] = {}
        self._together = False

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Write what is appended inside at the end, flushed to disk at once and not record by record.

        What was taken is written also when an error ends the block.
        """
        self._together = True
        try:
            yield
        finally:
            self._together = False
            self._flush()

    def append_plan(self, plan: Plan) -> bool:
        """Add what a nightly expected; false when it was there already.

        Raises:
            NotANightly: the plan tests a pull request or another commit of PyTorch.
            HistoryConflict: another plan has the same id.
            HistoryCorrupt: a record cannot be read back.

        """
        if plan.trigger.proposal is not None:
            raise NotANightly(
                f"the plan is no nightly: it tests {plan.trigger.proposal}",
                where=plan.id,
                fix="ask `ootci gate --pull-request` what came of it; the history and the pages keep nightlies only",
            )
        month = f"{plan.created_at.astimezone(timezone.utc):%Y-%m}"
        path = plans_file(self.folder, month)
        if plan.id in self._places:
            if self._plan(*self._places[plan.id]) == kept(plan):
                return False
            raise _conflict(plan.id, self._places[plan.id][0])
        plans = self.plans_of(path)
        self._lines.setdefault(path, []).append(write_plan(plan, self.values(month)))
        self._places[plan.id] = path, len(plans)
        plans.append(kept(plan))
        self._written()
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
            if item.outcome in _NAMED
            and (found := signature_of(run.device, item.outcome, item.message, item.text, test_id=item.id)) is not None
        }
        rows = self.tests.rows_of(run.outcomes)
        return self.append_stored(stored(run, self.tests, signatures, rows=rows), details_of(run, rows))

    def take(self, run: StoredRun, other: History) -> bool:
        """Add a run of another history, with the details that are still kept there; false when it was there already.

        Raises:
            HistoryConflict, HistoryCorrupt: as for :meth:`append_run`.

        """
        full = other.whole(run)
        signatures = {run.tests[row].id: signature for row, signature in run.signatures.items()}
        rows = self.tests.rows_of(full.outcomes)
        details = [found for found in details_of(full, rows) if other.details_path(run, type(found)).exists()]
        return self.append_stored(stored(full, self.tests, signatures, rows=rows), details)

    def append_stored(self, new: StoredRun, details: Sequence[Texts | Measures] = ()) -> bool:
        """Add a run whose tests have rows in this history's table already; false when it was there already.

        Raises:
            HistoryConflict, HistoryCorrupt: as for :meth:`append_run`.

        """
        month = self._month(new.head)
        path = runs_file(self.folder, month, new.head.device)
        if path not in self._appended:
            self._appended[path] = self.run_file(path)
        file = self._appended[path]
        number = file.keys.get((new.head.plan_id, new.head.attempt))
        if number is not None:
            if self._is(file.run(number), new, details):
                return False
            raise _conflict(f"{new.head.id}, attempt {new.head.attempt}", path)
        self._lines.setdefault(path, []).append(file.add(new))
        for found in details:
            content = packed(found)
            if content is not None:
                self._details[self.details_path(new, type(found))] = content
        self._written()
        return True

    def _written(self) -> None:
        if not self._together:
            self._flush()

    def _flush(self) -> None:
        """Write what was appended: what lines name before the lines themselves."""
        lines, self._lines = self._lines, {}
        details, self._details = self._details, {}
        self._appended = {}
        if not lines:
            return
        marker = format_file(self.folder)
        write_files(details | ({} if marker.exists() else {marker: (json.dumps(FORMAT) + "\n").encode()}))
        tables: list[TestTable | ValueTable] = [self.tests, *self._values.values()]
        add_lines({table.path: table.unsaved() for table in tables if table.path})
        for table in tables:
            table.saved()
        add_lines({path: added for path, added in lines.items() if path.name == "plans.jsonl"})
        add_lines({path: added for path, added in lines.items() if path.name != "plans.jsonl"})

    def _is(self, old: StoredRun, new: StoredRun, details: Sequence[Texts | Measures]) -> bool:
        """Whether a stored run is the given one, as far as its details are still kept."""
        same = old.head == new.head and old.attempts == new.attempts
        if not same or old.states.rstrip(b"\0") != new.states.rstrip(b"\0"):
            return False
        there = [read_details(type(given), self.details_path(old, type(given))) for given in details]
        return all(found is None or found == given for found, given in zip(there, details, strict=True))


def _conflict(name: str, path: Path) -> HistoryConflict:
    return HistoryConflict(
        f"a different record is already stored as `{name}`",
        where=str(path),
        fix="give the new attempt a number of its own; what is stored stays",
    )
