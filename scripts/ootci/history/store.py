"""The history folder: what every nightly expected and what every device reported, in files that never change.

- ``format.json`` names the format's version.
- ``<YYYY-MM>/<plan id>/plan.json``: a nightly.
- ``<YYYY-MM>/<plan id>/<device>.<attempt>.json``: a run of it, see ``run_file``.
- ``<YYYY-MM>/<plan id>/<device>.<attempt>.late.json``: the same of a report that came after the night was judged.
- ``<YYYY-MM>/<plan id>/compat.json``: what was predicted of each device on that nightly, if it was.
- ``<YYYY-MM>/<plan id>/<device>.<attempt>.source.json``: what compiling a paused device's source predicted.
- ``<YYYY-MM>/<plan id>/exports.json``: what that nightly of PyTorch changed of its exports, if that is known.
- ``needs/<digest>.json``: what a plugin's wheel needs of PyTorch. Every night with a prediction for it names it.
- ``<YYYY-MM>/<plan id>/withdrawn.json``: when and why the nightly was withdrawn, if it was.
- ``tests/<digest>.json``: a list of tests of one suite. Every run that had these tests names it.
- ``details/<YYYY-MM>/<device>.<plan id>.<attempt>.texts.json.gz``, ``.measures.json.gz`` and ``.accuracies.json.gz``:
  details of a run.
  ``ootci history gc`` removes old ones.

No file is relative to another night, and two publishers never write one file differently.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from ootci.errors import HistoryConflict, NotANightly, NotInHistory, StageFileInvalid
from ootci.model.compat import Compat, SourceCheck
from ootci.model.plan import Plan, PlannedRun
from ootci.model.record import utc_text
from ootci.model.run import Run
from ootci.model.words import did_you_mean

from .details import details_of, packed, read_details
from .layout import (
    COMPAT,
    EXPORTS,
    FORMAT,
    PLAN,
    WITHDRAWN,
    RunKey,
    format_file,
    is_name,
    is_withdrawn,
    late_file,
    month_of,
    needs_file,
    pack,
    run_file,
    source_file,
    tests_file,
    write_files,
)
from .reader import HistoryReader
from .run_file import is_same, write_run


class History(HistoryReader):
    """A history folder that can be added to.

    Args and raises: as for :class:`HistoryReader`.

    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._pending: dict[Path, bytes] = {}
        self._in_batch = False

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Write what is appended inside at the end, flushed to disk at once and not record by record.

        So a nightly is not there without its runs when the process is killed, and a second try does not find them late.
        Accepted runs are written also when an error ends the block.
        """
        self._in_batch = True
        try:
            yield
        finally:
            self._in_batch = False
            self._flush()

    def append_plan(self, plan: Plan) -> bool:
        """Add what a nightly expected; false when it was there already.

        Raises:
            NotANightly: the plan tests a pull request or another commit of PyTorch.
            StageFileInvalid: its id cannot be the name of a folder.
            HistoryConflict: another plan has the same id.
            HistoryCorrupt: a record cannot be read back.

        """
        if plan.trigger.proposal is not None:
            raise NotANightly(
                f"the plan is no nightly: it tests {plan.trigger.proposal}",
                where=plan.id,
                fix="ask `ootci gate --pull-request` for its result; the history and the pages keep nightlies only",
            )
        if not is_name(plan.id):
            raise StageFileInvalid(
                f"{Plan.FILE} is not valid: id: it cannot be the name of a folder",
                where=plan.id,
                fix=f"write it again with `{Plan.WRITTEN_BY}`",
            )
        new = _kept(plan)
        if plan.id in self._nights:
            if self.plan(plan.id) == new:
                return False
            raise _conflict(plan.id, self._nights[plan.id] / PLAN)
        night = self.folder / month_of(plan.created_at) / plan.id
        self._nights[plan.id] = night
        self._plans[plan.id] = new
        self._write({night / PLAN: pack(json.loads(new.model_dump_json(exclude_defaults=True)))})
        return True

    def append_run(self, run: Run, now: datetime | None = None) -> bool:
        """Add what a device reported; false when it was there already.

        Args:
            run: what it reported.
            now: the time, where the nightly was there before and may have been judged. A report that is the device's
                first, or whose place has one that was made here instead, is late then and counts.

        Raises:
            HistoryConflict: another run has the same device, nightly and attempt, or its nightly is not in the history.
            HistoryCorrupt: a record cannot be read back.

        """
        key = RunKey(run.plan_id, run.device, run.attempt)
        night = self.night(run.plan_id, run.id)
        path, late = (make(night, run.device, run.attempt) for make in (run_file, late_file))
        there = next((place for place in (late, path) if place in self._pending or place.exists()), None)
        is_late = now is not None and run.is_report and self._lacks(run, there)
        path = late if is_late else there or path
        content, lists = write_run(run, now if is_late else None)
        details = {self.details_path(key, type(found)): found for found in details_of(run)}
        if there == path:
            old = self._pending.get(path) or path.read_bytes()
            kept = [(read_details(type(found), place), found) for place, found in details.items()]
            if is_same(old, content, path) and all(before is None or before == found for before, found in kept):
                return False
            raise _conflict(f"{run.id}, attempt {run.attempt}", path)
        files = {tests_file(self.folder, digest): text for digest, text in lists.items()}
        new = {place: text for place, text in files.items() if place not in self._pending and not place.exists()}
        texts = {place: text for place, found in details.items() if (text := packed(found)) is not None}
        self._write({**new, **texts, path: content})
        for runs in (self._runs, self._all_runs):
            runs.setdefault(run.device, {})[key] = path
        return True

    def _lacks(self, run: Run, there: Path | None) -> bool:
        """Whether a nightly has nothing of a run's device, or in the run's place what was made here instead."""
        if there is not None:
            return there not in self._pending and not self._reader.read(there).head.is_report
        return all(key.plan_id != run.plan_id for key in self._files(run.device))

    def append_compat(self, compat: Compat) -> bool:
        """Add the predictions for a nightly; false when there were some already.

        Raises:
            HistoryConflict: the nightly is not in the history.

        """
        night = self.night(compat.plan_id or "", COMPAT)
        path = night / COMPAT
        if path in self._pending or path.exists():
            return False
        needs = {
            needs_file(self.folder, item.digest): pack(json.loads(item.model_dump_json())) for item in compat.needs
        }
        kept = compat.model_copy(update={"needs": (), "exports": None})
        new = {place: text for place, text in needs.items() if place not in self._pending and not place.exists()}
        if compat.exports is not None:
            new[night / EXPORTS] = pack(json.loads(compat.exports.model_dump_json()))
        self._write({**new, path: pack(json.loads(kept.model_dump_json(exclude_defaults=True)))})
        return True

    def append_source(self, plan_id: str, device: str, attempt: int, compiled: SourceCheck) -> None:
        """Add what an attempt at compiling a device's source predicted; that of the newest counts.

        Raises:
            HistoryConflict: the nightly is not in the history.

        """
        path = source_file(self.night(plan_id, device), device, attempt)
        self._write({path: pack(json.loads(compiled.model_dump_json(exclude_defaults=True)))})

    def holds_source(self, plan_id: str, device: str, attempt: int) -> bool:
        """Whether there is the prediction of an attempt at compiling a device's source."""
        return source_file(self.night(plan_id, device), device, attempt).exists()

    def holds(self, run: Run) -> bool:
        """Whether there is a run of the same device, nightly and attempt."""
        return RunKey(run.plan_id, run.device, run.attempt) in self._files(run.device)

    def withdraw(self, plan_id: str, at: datetime, reason: str) -> bool:
        """Leave a nightly and its runs out from now on; their files stay. False when it was withdrawn before.

        Raises:
            NotInHistory: there is no such nightly.

        """
        if plan_id not in self._nights:
            raise NotInHistory(
                f"no nightly `{plan_id}` is in the history",
                where=str(self.folder),
                fix=did_you_mean(plan_id, self._nights, 3).strip() or "give an id from the dashboard's page Nightlies",
            )
        night = self._nights[plan_id]
        if is_withdrawn(night):
            return False
        self._write({night / WITHDRAWN: pack({"at": utc_text(at), "reason": reason})})
        return True

    def _write(self, files: dict[Path, bytes]) -> None:
        self._pending |= files
        if not self._in_batch:
            self._flush()

    def _flush(self) -> None:
        """Write what was appended, and what runs name before the runs: an interrupted write does no harm."""
        files, self._pending = self._pending, {}
        if files:
            marker = format_file(self.folder)
            first = {} if marker.exists() else {marker: f"{json.dumps(FORMAT)}\n".encode()}
            write_files(first | files)


def _kept(plan: Plan) -> Plan:
    """The plan without the tests that failed before: they were found in the history and can be found there again."""

    def kept(runs: Sequence[PlannedRun]) -> tuple[PlannedRun, ...]:
        return tuple(run.model_copy(update={"failing_before": None, "not_retried": ()}) for run in runs)

    runs = {"runs": kept(plan.runs), "also": kept(plan.also)}
    return Plan.model_validate_json(plan.model_copy(update=runs).to_json())


def _conflict(name: str, path: Path) -> HistoryConflict:
    return HistoryConflict(
        f"a different record is already stored as `{name}`",
        where=str(path),
        fix="give the new attempt a number of its own; what is stored stays",
    )
