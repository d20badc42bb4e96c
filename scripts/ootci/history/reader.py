"""Reading a history folder; its layout is described in ``store``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import chain, groupby
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ootci.errors import HistoryConflict, HistoryCorrupt
from ootci.model.compat import Compat, ExportChanges, Needs, SourceCheck
from ootci.model.plan import Plan
from ootci.model.record import Record, check_version, time_of
from ootci.model.run import Run

from .details import Accuracies, D, Measures, Texts, read_details, whole
from .layout import (
    COMPAT,
    EXPORTS,
    PLAN,
    RESTORE,
    WITHDRAWN,
    RunKey,
    check_format,
    details_file,
    is_withdrawn,
    load,
    needs_file,
    nights_of,
    runs_of,
    sources_of,
)
from .run_file import RunReader, lists_of
from .stored import StoredRun
from .tables import TestTable

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Withdrawn:
    """A nightly that does not count any more, when it was withdrawn, and why."""

    plan: Plan
    at: datetime
    reason: str


class HistoryReader:
    """A history folder; a missing one is empty.

    Files stay in memory once read, so one object is for one command.

    Args:
        folder: the folder, ``data/`` on a laptop and a checkout of the branch ``data`` on GitHub.

    Raises:
        HistoryCorrupt: it is of a version that this tool does not read, or was left half-way by another command; from
            the methods, a record or its details cannot be read back.
        StageFileVersion: from the methods, a newer version of the tool wrote a record.

    """

    def __init__(self, folder: Path) -> None:
        check_format(folder)
        self.folder = folder
        self._plans: dict[str, Plan] = {}
        self._parts: dict[tuple[str, object], object] = {}
        self._reader = RunReader(folder)

    def plans(self) -> tuple[Plan, ...]:
        """Every nightly that was not withdrawn, oldest first."""
        plans = (self.plan(plan_id) for plan_id, night in self._nights.items() if not is_withdrawn(night))
        return tuple(sorted(plans, key=_age_of_plan))

    def withdrawn(self) -> tuple[Withdrawn, ...]:
        """Every nightly that was withdrawn, oldest first."""
        found = (self._withdrawn(plan_id, night) for plan_id, night in self._nights.items() if is_withdrawn(night))
        return tuple(sorted(found, key=lambda item: _age_of_plan(item.plan)))

    def _withdrawn(self, plan_id: str, night: Path) -> Withdrawn:
        path = night / WITHDRAWN
        record = load(path)
        try:
            return Withdrawn(self.plan(plan_id), time_of(record["at"]), str(record["reason"]))
        except (KeyError, ValueError) as error:
            raise HistoryCorrupt(f"the note cannot be read back: {error}", where=str(path), fix=RESTORE) from error

    def withdrawn_runs(self, device: str) -> tuple[StoredRun, ...]:
        """Every attempt of a device on nightlies that were withdrawn, oldest first; otherwise as ``stored_runs``."""
        files = (path for path in self._all_runs.get(device, {}).values() if is_withdrawn(path.parent))
        return tuple(sorted(map(self._reader.read, files), key=_age_of_run))

    def plan(self, plan_id: str) -> Plan:
        """One nightly."""
        if plan_id not in self._plans:
            path = self._nights[plan_id] / PLAN
            record = load(path)
            try:
                check_version(Plan, record.get("schema_version", Plan.VERSION), where=str(path))
                plan = Plan.model_validate(record)
                if plan.id != plan_id:
                    raise ValueError(f"it is the nightly {plan.id}")
            except (ValueError, TypeError, ValidationError) as error:
                raise HistoryCorrupt(f"the plan cannot be read back: {error}", where=str(path), fix=RESTORE) from error
            self._plans[plan_id] = self._with_shared_parts(plan)
        return self._plans[plan_id]

    def _with_shared_parts(self, plan: Plan) -> Plan:
        """The plan, in memory once with what other plans have in common with it: a year of them takes a third."""
        runs = (
            run.model_copy(update={name: self._parts.setdefault((name, value), value) for name, value in run})
            for run in plan.runs
        )
        return plan.model_copy(update={"runs": tuple(runs)})

    def compat(self, plan_id: str) -> Compat | None:
        """The predictions for each device on one nightly, without needs and exports; None without any.

        What compiling a source predicted on the nightly's torch is joined with the prediction from the wheel.
        """
        night = self._nights[plan_id]
        if not (night / COMPAT).exists():
            return None
        found = _loaded(Compat, night / COMPAT)
        sources = {device: _loaded(SourceCheck, path) for device, path in sources_of(night)}
        if not sources or not found.torches:
            return found
        joined = (
            item.with_source(sources[item.plugin])
            if item.plugin in sources and item.torch == found.torches[0].version
            else item
            for item in found.predictions
        )
        return found.model_copy(update={"predictions": tuple(joined)})

    def exports(self, plan_id: str) -> ExportChanges | None:
        """The changes of PyTorch's exports on one nightly; None where they are not known."""
        path = self._nights[plan_id] / EXPORTS
        return _loaded(ExportChanges, path) if path.exists() else None

    def needs(self, digest: str) -> Needs:
        """The parts of PyTorch that a plugin's wheel needs, which a prediction names."""
        path = needs_file(self.folder, digest)
        found = _loaded(Needs, path)
        if found.digest != digest:
            raise HistoryCorrupt("its content does not match its name", where=str(path), fix=RESTORE)
        return found

    def stored_runs(self, device: str) -> tuple[StoredRun, ...]:
        """Every attempt of a device, oldest first, without details."""
        return tuple(sorted(map(self._reader.read, self._files(device).values()), key=_age_of_run))

    def stored_run(self, key: RunKey) -> StoredRun:
        """One attempt, also of a withdrawn nightly.

        Raises:
            HistoryConflict: its nightly is not in the history.

        """
        self.night(key.plan_id, f"{key.plan_id}-{key.device}")
        return self._reader.read(self._all_runs[key.device][key])

    def counting_run(self, device: str, plan_id: str) -> StoredRun | None:
        """The last attempt of a device on one nightly; None where it reported none."""
        keys = [key for key in self._files(device) if key.plan_id == plan_id]
        return self._reader.read(self._files(device)[max(keys, key=lambda key: key.attempt)]) if keys else None

    def attempts_by_nightly(self, device: str) -> Iterator[tuple[StoredRun, ...]]:
        """The attempts of each nightly that a device reported on, the last attempt first, of the newest nightly first.

        They are read one nightly at a time, without details. A nightly that was re-run later stays where it was.

        Raises:
            HistoryConflict: the nightly of a run is not in the history.

        """
        files = self._files(device)
        nightlies = {plan_id: list(keys) for plan_id, keys in groupby(sorted(files), key=lambda key: key.plan_id)}
        plans = {plan_id: self.plan(plan_id) for plan_id in nightlies if self.night(plan_id, f"{plan_id}-{device}")}
        for plan_id in sorted(plans, key=lambda plan_id: _age_of_plan(plans[plan_id]), reverse=True):
            yield tuple(self._reader.read(files[key]) for key in reversed(nightlies[plan_id]))

    def newest_stored(self, device: str) -> Iterator[StoredRun]:
        """The attempts of a device one by one, newest nightly first; otherwise as :meth:`attempts_by_nightly`."""
        return chain.from_iterable(self.attempts_by_nightly(device))

    def whole(self, run: StoredRun, only: Iterable[int] | None = None) -> Run:
        """A run with the details that are still kept, with the tests of the given rows, or all."""
        return whole(run, self.details(run, Texts), self.details(run, Measures), self.details(run, Accuracies), only)

    def details(self, run: StoredRun, kind: type[D]) -> D | None:
        """Details of a run; None where they are not kept any more."""
        head = run.head
        return read_details(kind, self.details_path(RunKey(head.plan_id, head.device, head.attempt), kind))

    def devices(self) -> tuple[str, ...]:
        """Names of all devices that ever reported, sorted."""
        return tuple(sorted(self._runs))

    @cached_property
    def tests(self) -> TestTable:
        """Every test of every device, in the order in which the nightlies brought them, withdrawn ones too.

        A test keeps its row when a nightly is withdrawn.
        """
        files = {key: path for runs in self._all_runs.values() for key, path in runs.items()}
        plans = sorted(map(self.plan, {key.plan_id for key in files} & self._nights.keys()), key=_age_of_plan)
        places = {plan.id: number for number, plan in enumerate(plans)}
        for key in sorted(files, key=lambda key: (places.get(key.plan_id, len(plans)), key)):
            for digest in lists_of(files[key]):
                self._reader.list(digest)
        return self._reader.table

    def night(self, plan_id: str, run_id: str) -> Path:
        """The folder of a run's nightly, in which the run is found however late it arrives.

        Raises:
            HistoryConflict: the nightly is not in the history.

        """
        if plan_id in self._nights:
            return self._nights[plan_id]
        raise HistoryConflict(
            f"the nightly {plan_id} of the run {run_id} is not in the history",
            where=str(self.folder),
            fix="append its plan.json first, with `ootci history append`",
        )

    @cached_property
    def _nights(self) -> dict[str, Path]:
        """The folder of each nightly."""
        return nights_of(self.folder)

    @cached_property
    def _runs(self) -> dict[str, dict[RunKey, Path]]:
        """The file of each run of a nightly that was not withdrawn, by device."""
        kept = {
            device: {key: path for key, path in runs.items() if not is_withdrawn(path.parent)}
            for device, runs in self._all_runs.items()
        }
        return {device: runs for device, runs in kept.items() if runs}

    @cached_property
    def _all_runs(self) -> dict[str, dict[RunKey, Path]]:
        """The file of each run, by device."""
        found: dict[str, dict[RunKey, Path]] = {}
        for key, path in runs_of(self.folder).items():
            found.setdefault(key.device, {})[key] = path
        return found

    def _files(self, device: str) -> dict[RunKey, Path]:
        return self._runs.get(device, {})

    def run_keys(self, device: str) -> tuple[RunKey, ...]:
        """The keys of a device's runs, without reading the runs."""
        return tuple(self._files(device))

    def details_path(self, key: RunKey, kind: type[Record]) -> Path:
        """Where a run's details are, or would be."""
        month = self.night(key.plan_id, f"{key.plan_id}-{key.device}").parent.name
        return details_file(self.folder, month, key, kind.__name__.lower())


def _loaded(kind: type[R], path: Path) -> R:
    try:
        return kind.model_validate(load(path))
    except ValidationError as error:
        what = f"the predictions cannot be read back: {error.error_count()} values are wrong"
        raise HistoryCorrupt(what, where=str(path), fix=RESTORE) from error


def _age_of_plan(plan: Plan) -> tuple[datetime, str]:
    return plan.created_at, plan.id


def _age_of_run(run: StoredRun) -> tuple[datetime, str, int]:
    return run.head.started_at, run.head.plan_id, run.head.attempt
