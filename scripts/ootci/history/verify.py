"""Reading a whole history back, and saying of everything that is wrong where it is and what to do."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ootci.errors import HistoryConflict, OotciError
from ootci.model.record import Record

from .details import Accuracies, Measures, Texts, read_details
from .layout import (
    MONTH,
    RESTORE,
    WITHDRAWN,
    check_format,
    format_file,
    is_withdrawn,
    load,
    month_of,
    nights_of,
    runs_of,
)
from .reader import HistoryReader
from .stored import StoredRun
from .tables import read_list

_KNOWN = re.compile(
    r"format\.json|(tests|needs)/[0-9a-f]{32}\.json|\d{4}-\d{2}/[^/]+/(plan|withdrawn|compat|exports|[^/]+\.[1-9][0-9]*(\.late|\.source)?)\.json"
    r"|details/\d{4}-\d{2}/[^/]+\.(texts|measures|accuracies)\.json\.gz"
)
_LEFT = re.compile(r"\..*\.tmp")


class Problem(Record):
    """Something that is wrong with a history."""

    what: str
    """What it is."""
    where: str
    """The file."""
    fix: str
    """What to do about it."""


class Report(Record):
    """The contents of a history, and its defects."""

    nightlies: int = 0
    """Nightlies."""
    devices: int = 0
    """Devices that ever reported."""
    runs: int = 0
    """Runs that were read back."""
    tests: int = 0
    """Different tests."""
    outcomes: int = 0
    """Outcomes that were read back."""
    texts: int = 0
    """Runs whose texts are still kept."""
    measures: int = 0
    """Runs whose durations and operator counts are still kept."""
    accuracies: int = 0
    """Runs whose errors of results are still kept."""
    bytes: int = 0
    """Bytes of all files."""
    notes: tuple[str, ...] = ()
    """Harmless findings."""
    problems: tuple[Problem, ...] = ()
    """Defects."""


def verify(folder: Path) -> Report:
    """Read back every nightly, run, list of tests and file of details of a history folder."""
    found = _Verification(folder)
    found.files()
    with found.told():
        check_format(folder)
        history = HistoryReader(folder)
        found.lists()
        found.nightlies(history)
        found.runs(history)
    return Report(**found.counts, notes=tuple(found.notes), problems=tuple(found.problems))


class _Verification:
    """The findings so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.problems: list[Problem] = []

    def problem(self, what: str, where: Path, fix: str = RESTORE) -> None:
        self.problems.append(Problem(what=what, where=str(where), fix=fix))

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Take a record that cannot be read back for a problem, and go on."""
        try:
            yield
        except OotciError as error:
            self.problems.append(Problem(what=error.what, where=error.where, fix=error.fix))

    def files(self) -> None:
        paths = [
            path
            for path in sorted(self.folder.rglob("*"))
            if path.is_file() and path.parts[len(self.folder.parts)] != ".git"
        ]
        self.counts["bytes"] = sum(path.stat().st_size for path in paths)
        for path in paths:
            if _LEFT.fullmatch(path.name):
                self.notes.append(f"{path}: a command that was ended left it; `ootci history gc` removes it")
            elif not _KNOWN.fullmatch(path.relative_to(self.folder).as_posix()):
                self.notes.append(f"{path}: no file of a history")
        if paths and not format_file(self.folder).exists():
            self.problem("the file that names the format is missing", format_file(self.folder))

    def lists(self) -> None:
        ids: set[str] = set()
        for path in sorted((self.folder / "tests").glob("*.json")):
            with self.told():
                ids.update(test.id for test in read_list(path))
        self.counts["tests"] = len(ids)

    def nightlies(self, history: HistoryReader) -> None:
        for plan_id, night in nights_of(self.folder).items():
            with self.told():
                if is_withdrawn(night):
                    found = load(night / WITHDRAWN)
                    self.notes.append(
                        f"{night / WITHDRAWN}: the nightly was withdrawn at {found['at']}: {found['reason']}"
                    )
                plan = history.plan(plan_id)
                history.exports(plan_id)
                predicted = history.compat(plan_id)
                for item in predicted.predictions if predicted else ():
                    if item.needs is not None:
                        history.needs(item.needs)
                self.counts["nightlies"] += 1
                if month_of(plan.created_at) != night.parent.name:
                    self.problem(f"the nightly {plan.id} is of another month", night)

    def runs(self, history: HistoryReader) -> None:
        self.counts["devices"] = len(history.devices())
        known: set[Path] = set()
        for key, path in runs_of(self.folder).items():
            try:
                files = {kind: history.details_path(key, kind) for kind in (Texts, Measures, Accuracies)}
            except HistoryConflict as error:
                self.problem(error.what, path)
                continue
            run = None
            with self.told():
                run = history.stored_run(key)
                self.counts["runs"] += 1
                self.counts["outcomes"] += len(run.rows())
            for kind, file in files.items():
                self.details(kind, file, run)
            known.update(files.values())
        for path in sorted(set((self.folder / "details").glob(f"{MONTH}/*.json.gz")) - known):
            fix = "append that run once more, or remove the file with `ootci history gc`"
            self.problem("the run of these details is not in the history", path, fix)

    def details(self, kind: type[Texts | Measures | Accuracies], path: Path, run: StoredRun | None) -> None:
        """Read the details of a run, if they are still kept; ``run`` is None where it cannot be read back itself."""
        with self.told():
            found = read_details(kind, path) if path.exists() else None
            if run is not None and found is not None and not found.fits(len(run.rows()), len(run.head.stages)):
                self.problem("the details name tests or stages that the run does not have", path)
        self.counts[kind.__name__.lower()] += path.exists()
