"""Reading a whole history back, and saying of everything that is wrong where it is and what to do."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ootci.errors import HistoryOutdated, OotciError
from ootci.model.record import Record

from .details import Measures, Texts, read_details
from .layout import MONTH, check_format, details_file, format_file
from .lines import read_lines
from .plan_lines import read_plan
from .reader import HistoryReader
from .stored import StoredRun
from .tables import RESTORE

_KNOWN = re.compile(
    r"format\.json|tests\.jsonl|\d{4}-\d{2}/(plans|values|[^/]+\.runs)\.jsonl"
    r"|details/\d{4}-\d{2}/[^/]+\.(texts|measures)\.json\.gz"
)
_LEFT = re.compile(r"\..*\.tmp")


class Problem(Record):
    """Something that is wrong with a history."""

    what: str
    """What it is."""
    where: str
    """The file, and the line where there is one."""
    fix: str
    """What to do about it."""


class Report(Record):
    """What a history holds, and what is wrong with it."""

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
    bytes: int = 0
    """Bytes of all files."""
    notes: tuple[str, ...] = ()
    """What is there and does no harm."""
    problems: tuple[Problem, ...] = ()
    """What is wrong."""


@dataclass(frozen=True)
class _Size:
    tests: int
    stages: int


def verify(folder: Path) -> Report:
    """Read back every nightly, run, table and file of details of a history folder.

    Raises:
        HistoryOutdated: it is a history of an earlier version.

    """
    found = _Verification(folder)
    found.files()
    with found.told():
        check_format(folder)
        history = HistoryReader(folder)
        found.nightlies(history)
        found.values(history)
        found.runs(history)
        found.details()
    return Report(**found.counts, notes=tuple(found.notes), problems=tuple(found.problems))


class _Verification:
    """What was found so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.problems: list[Problem] = []
        self._months: dict[str, str] = {}
        self._details: dict[Path, _Size] = {}

    def problem(self, what: str, where: str, fix: str = RESTORE) -> None:
        self.problems.append(Problem(what=what, where=where, fix=fix))

    @contextlib.contextmanager
    def told(self) -> Iterator[None]:
        """Take a record that cannot be read back for a problem, and go on."""
        try:
            yield
        except HistoryOutdated:
            raise
        except OotciError as error:
            self.problem(error.what, error.where, error.fix)

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
            elif path.suffix == ".jsonl" and not path.read_bytes().endswith(b"\n"):
                number = len(read_lines(path)) + 1
                self.notes.append(f"{path}:{number}: a command that was ended left a part of a line; nobody reads it")
        if paths and not format_file(self.folder).exists():
            self.problem("the file that names the format is missing", str(format_file(self.folder)))

    def nightlies(self, history: HistoryReader) -> None:
        for path in history.plan_files():
            values = history.values(path.parent.name)
            for number, line in enumerate(read_lines(path)):
                where = f"{path}:{number + 1}"
                with self.told():
                    plan = read_plan(line, values, where)
                    self.counts["nightlies"] += 1
                    if f"{plan.created_at:%Y-%m}" != path.parent.name:
                        self.problem(f"the nightly {plan.id} is of another month", where)
                    if plan.id in self._months:
                        self.problem(f"the nightly {plan.id} is there twice", where)
                    self._months.setdefault(plan.id, path.parent.name)

    def values(self, history: HistoryReader) -> None:
        for path in sorted(self.folder.glob(f"{MONTH}/values.jsonl")):
            table = history.values(path.parent.name)
            for number in range(len(table)):
                with self.told():
                    table.value(number)

    def runs(self, history: HistoryReader) -> None:
        self.counts["tests"] = len({test.id for test in history.tests.tests})
        self.counts["devices"] = len(history.devices())
        for path in history.run_files():
            file = history.run_file(path)
            keys: set[tuple[str, int]] = set()
            for number in range(len(file.lines)):
                try:
                    run = file.run(number)
                except OotciError as error:
                    # Each line is what differs from one before.
                    more = len(file.lines) - number - 1
                    after = f"; the {more} lines after it cannot be either" if more else ""
                    self.problem(error.what + after, error.where, error.fix)
                    break
                self._run(history, run, file.where(number), path.parent.name, keys)

    def _run(self, history: HistoryReader, run: StoredRun, where: str, month: str, keys: set[tuple[str, int]]) -> None:
        head, tests = run.head, len(run.rows())
        self.counts["runs"] += 1
        self.counts["outcomes"] += tests
        if (head.plan_id, head.attempt) in keys:
            self.problem(f"the run {head.id}, attempt {head.attempt}, is there twice", where)
        keys.add((head.plan_id, head.attempt))
        if head.plan_id not in self._months:
            self.problem(f"the nightly {head.plan_id} of the run {head.id} is not in the history", where)
        elif self._months[head.plan_id] != month:
            self.problem(f"the run {head.id} is of a nightly of {self._months[head.plan_id]}", where)
        for kind in ("texts", "measures"):
            path = details_file(self.folder, month, head.device, head.plan_id, head.attempt, kind)
            self._details[path] = _Size(tests, len(head.stages))

    def details(self) -> None:
        for path in sorted((self.folder / "details").glob(f"{MONTH}/*.json.gz")):
            size = self._details.get(path)
            if size is None:
                fix = "append that run again, or remove the file with `ootci history gc`"
                self.problem("the run of these details is not in the history", str(path), fix)
                continue
            with self.told():
                kind = "texts" if path.name.endswith(".texts.json.gz") else "measures"
                self.counts[kind] += 1
                fits = _texts_fit(path, size) if kind == "texts" else _measures_fit(path, size)
                if not fits:
                    self.problem("the details name tests or stages that the run does not have", str(path))


def _texts_fit(path: Path, size: _Size) -> bool:
    found = read_details(Texts, path) or Texts()
    ranks = [*found.tests, *found.attempts]
    return all(0 <= rank < size.tests for rank in ranks) and all(0 <= place < size.stages for place in found.excerpts)


def _measures_fit(path: Path, size: _Size) -> bool:
    found = read_details(Measures, path) or Measures()
    ordered = found.order is None or sorted(found.order) == list(range(size.tests))
    return ordered and len(found.durations) in (0, size.tests)
