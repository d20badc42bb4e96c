"""The matrix of devices and operators, and a device's of operators and dtypes: what runs where, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from markupsafe import Markup

from ootci.history.operators import SUITE, Column, OperatorsOfRun, OperatorState, Tested
from ootci.model.record import Record
from ootci.model.run import Run

from ..links import operators_path
from ..page_maker import PageMaker
from ..publish import File
from ..text import one_line
from .published import Compact, WithPage, api_file

ROWS_LIMIT = 1000
"""Operators that the matrix has room for: those that most devices test."""
CELLS_LIMIT = 12_000
"""Cells that a device's own matrix has room for; the suite fills about 4,000."""
REASONS = 250
"""Operators with the texts of their tests on a page."""
REASON_LIMIT = 160

S = OperatorState


@dataclass(frozen=True)
class Shown:
    """A state as it is shown: a word, of which a cell shows the first letter, and what it means.

    Attributes:
        word: the word; its first letter stands for it, and is the CSS class too.
        meaning: in the legend.
        is_fine: whether nobody has to look at it.

    """

    word: str
    meaning: str
    is_fine: bool = False

    @property
    def key(self) -> str:
        """The CSS class."""
        return self.word[0].lower()

    @property
    def cell(self) -> Markup:
        """A cell. There may be many thousands on a page, so that every byte counts: the style has the rest of the word,
        for those who hear the page.
        """
        return Markup("<td class={}>{}</td>").format(self.key, self.word[0])


STATES: Mapping[OperatorState, Shown] = MappingProxyType(
    {
        S.NATIVE: Shown("Native", "matches the CPU; all of it ran on the device", is_fine=True),
        S.PASSED: Shown("Passed", "matches the CPU (fallback not reported)", is_fine=True),
        S.FALLBACK: Shown("Fallback", "matches the CPU; some of it ran there"),
        S.UNSUPPORTED: Shown("Unsupported", "the device has no kernel"),
        S.MISMATCH: Shown("Mismatch", "other values than the CPU, or an error"),
        S.CRASH: Shown("Crash", "the process died"),
        S.TIMED_OUT: Shown("Time-out", "it took too long and was ended"),
        S.ERROR: Shown("Error", "the test could not be set up"),
        S.NOT_RUN: Shown("Lost", "collected, but never reported"),
        S.XFAILED: Shown("Defect", "a defect of PyTorch itself, on every device", is_fine=True),
        S.XPASSED: Shown("Xpassed", "a defect of PyTorch was expected and not seen"),
        S.CONTROL: Shown("Reference", "the CPU itself gives nothing to compare with", is_fine=True),
    }
)
"""In the order in which they are counted and explained."""
FINE = " ".join(shown.key for shown in STATES.values() if shown.is_fine)
"""The CSS classes of cells that nobody has to look at, for the script that filters."""
_CELLS = {shown.word[0]: shown.cell for shown in STATES.values()} | {".": Markup("<td></td>")}
_FINE = {shown.word[0] for shown in STATES.values() if shown.is_fine} | {"."}


@dataclass(frozen=True)
class DeviceCoverage:
    """What is kept of a device for the matrix: the worst of each operator; or why there is nothing."""

    worst: Mapping[str, OperatorState]
    why_none: str | None

    @property
    def counts(self) -> tuple[tuple[Shown, int], ...]:
        """How many operators are in each state, where any is."""
        counts = Counter(self.worst.values())
        return tuple((shown, counts[state]) for state, shown in STATES.items() if counts[state])


class OperatorLetter(Record):
    """The letter for the result of an operator."""

    letter: str
    """The letter."""
    state: OperatorState
    """What it stands for."""
    meaning: str
    """The same for people."""


class OperatorTotal(Record):
    """How many operators of a device are in a state."""

    state: OperatorState
    """The state."""
    operators: int
    """How many operators, of each the worst of its tests."""


class DeviceOperators(Record):
    """A device, by the run that its verdict is about."""

    device: str
    """Name of the device."""
    page: str
    """Address of its matrix of operators and dtypes for people."""
    path: str
    """Address of the same as a file."""
    totals: tuple[OperatorTotal, ...]
    """States that an operator is in."""
    not_tested: int
    """Operators that other devices tested and this one did not."""
    why_none: str | None
    """Why it tested none at all; null where it did."""

    def count(self, state: OperatorState) -> int:
        """How many operators are in a state."""
        return next((total.operators for total in self.totals if total.state is state), 0)

    @property
    def bar(self) -> Iterator[tuple[str, float, float]]:
        """The parts of a bar of all operators, those first that nobody has to look at: CSS class, begin and percent."""
        total = self.not_tested + sum(item.operators for item in self.totals)
        parts = sorted((STATES[item.state].is_fine, STATES[item.state].key, item.operators) for item in self.totals)
        x = 0.0
        for _, key, operators in (*reversed(parts), (False, "none", self.not_tested)):
            width = 100 * operators / total
            if operators:
                yield key, round(x, 1), round(width, 1)
            x += width


class OperatorRow(Record):
    """An operator on every device."""

    operator: str
    """Its name."""
    devices: str
    """A letter for each device of `columns`, of its tests there the worst; `.` where it was not tested."""


class OperatorsFile(WithPage, Compact):
    """operators.json: the matrix of operators and devices."""

    letters: tuple[OperatorLetter, ...]
    """What the letters stand for."""
    devices: tuple[DeviceOperators, ...]
    """What needs a person first, within a tier."""
    columns: tuple[str, ...]
    """Those of them that tested an operator."""
    operators: tuple[OperatorRow, ...]
    """Those first that fail on most devices, then those that most refuse, then those that most leave to the CPU."""
    more: int
    """How many were left out because there were too many."""


class OperatorColumn(Record):
    """A kind of test and a dtype."""

    kind: str
    """The kind of test, such as `forward`."""
    dtype: str | None
    """The dtype; null for a kind that has none."""


class OperatorSaid(Record):
    """A text of an operator's tests."""

    where: str
    """In which columns."""
    text: str
    """One line, without the sample that it happened to."""


class OperatorCells(Record):
    """An operator of one device."""

    operator: str
    """Its name."""
    cells: str
    """A letter for each column; `.` where it was not tested."""
    said: tuple[OperatorSaid, ...]
    """The texts of its tests that did not simply pass."""


class DeviceOperatorsFile(WithPage, Compact):
    """operators/<device>.json: a device's matrix of operators and dtypes, by the run that its verdict is about."""

    device: str
    """Name of the device."""
    run_page: str | None
    """Address of the permanent page of that run; null when there is none."""
    why_none: str | None
    """Why no operator was tested; null where one was."""
    letters: tuple[OperatorLetter, ...]
    """What the letters stand for."""
    columns: tuple[OperatorColumn, ...]
    """What was tested."""
    operators: tuple[OperatorCells, ...]
    """By name."""
    more: int
    """How many were left out because there were too many."""
    more_said: int
    """How many operators' texts were left out."""


def device_coverage(run: Run | None, tested: OperatorsOfRun | None) -> DeviceCoverage:
    """What the matrix needs of a device, from the run that its verdict is about."""
    if tested is not None and tested.tested:
        return DeviceCoverage(tested.worst(), None)
    return DeviceCoverage({}, _why_none(run))


def _why_none(run: Run | None) -> str:
    if run is None:
        return "no run"
    report = next((report for report in run.suites if report.suite == SUITE), None)
    if report is None:
        return f"the run has no suite {SUITE}"
    return one_line(report.detail, REASON_LIMIT) if report.detail else f"the suite {SUITE} reported no operator"


def operators_page(maker: PageMaker, devices: Sequence[str], found: Mapping[str, DeviceCoverage]) -> Iterator[File]:
    """The matrix of operators and devices, and its file; ``devices`` are in the order of the front page."""
    file = operators_file(devices, found)
    yield maker.show(operators_path(), "operators.html", page=file, **matrix_values(file))
    yield api_file("operators.json", file)


def matrix_values(file: OperatorsFile | DeviceOperatorsFile) -> dict[str, object]:
    """What the template of a matrix needs besides the file."""
    used = {item.state for item in file.letters}
    counted = [state for state in STATES if state in used]
    return {"states": STATES, "counted": counted, "fine": FINE, "cells": cells, "is_fine": is_fine}


def operators_file(devices: Sequence[str], found: Mapping[str, DeviceCoverage]) -> OperatorsFile:
    """The matrix of operators and devices: the operators that most devices test, the worst first."""
    among = Counter(name for coverage in found.values() for name in coverage.worst)
    chosen = sorted(among, key=lambda name: (-among[name], name))[:ROWS_LIMIT]
    columns = tuple(name for name in devices if found[name].worst)
    return OperatorsFile(
        page=f"../../{operators_path()}",
        letters=_letters(state for coverage in found.values() for state in coverage.worst.values()),
        devices=tuple(
            _totals(name, found[name], len(among))
            for name in sorted(devices, key=lambda name: found[name].why_none is not None)
        ),
        columns=columns,
        operators=tuple(
            OperatorRow(operator=name, devices="".join(_letter(found[device].worst.get(name)) for device in columns))
            for name in sorted(
                sorted(chosen, key=lambda name: (name.lower(), name)),
                key=lambda name: _badness([found[device].worst.get(name) for device in columns]),
            )
        ),
        more=len(among) - len(chosen),
    )


def device_operators_page(maker: PageMaker, file: DeviceOperatorsFile, coverage: DeviceCoverage) -> Iterator[File]:
    """A device's matrix of operators and dtypes, and its file."""
    values = {"counts": coverage.counts, **matrix_values(file)}
    yield maker.show(operators_path(file.device), "device_operators.html", page=file, **values)
    yield api_file(f"operators/{file.device}.json", file)


def device_operators_file(
    device: str, coverage: DeviceCoverage, tested: OperatorsOfRun | None, run_href: str | None
) -> DeviceOperatorsFile:
    """A device's matrix of operators and dtypes.

    Args:
        coverage: what the large matrix shows of it.
        tested: what its run tested.
        run_href: the page of that run.

    """
    rows, with_reasons = [], 0
    columns = tested.columns if tested else ()
    found = list(tested.tested.items()) if tested else []
    shown = found[: CELLS_LIMIT // max(1, len(columns))]
    for name, tests in shown:
        said = _said(tests, columns)
        with_reasons += bool(said)
        letters = "".join(_letter(tests[column].state if column in tests else None) for column in columns)
        rows.append(OperatorCells(operator=name, cells=letters, said=said if with_reasons <= REASONS else ()))
    return DeviceOperatorsFile(
        device=device,
        page=f"../../../{operators_path(device)}",
        run_page=f"../../../{run_href}" if run_href else None,
        why_none=coverage.why_none,
        letters=_letters(item.state for _, tests in shown for item in tests.values()),
        columns=tuple(OperatorColumn(kind=column.kind, dtype=column.dtype or None) for column in columns),
        operators=tuple(rows),
        more=(tested.left_out if tested else 0) + len(found) - len(shown),
        more_said=max(0, with_reasons - REASONS),
    )


def _badness(states: Sequence[OperatorState | None]) -> tuple[int, int, int]:
    """What sorts an operator before those that are better: on how many devices it fails, is refused and falls back."""
    counts = Counter(states)
    refused, falls_back = counts[S.UNSUPPORTED], counts[S.FALLBACK]
    fails = sum(counts[state] for state, shown in STATES.items() if not shown.is_fine) - refused - falls_back
    return -fails, -refused, -falls_back


def cells(letters: str) -> Markup:
    """The cells of a row."""
    return Markup("").join(_CELLS[letter] for letter in letters)


def is_fine(letters: str) -> bool:
    """Whether nobody has to look at any cell of a row."""
    return _FINE.issuperset(letters)


def _totals(device: str, coverage: DeviceCoverage, total: int) -> DeviceOperators:
    counts = Counter(coverage.worst.values())
    return DeviceOperators(
        device=device,
        page=f"../../{operators_path(device)}",
        path=f"operators/{device}.json",
        totals=tuple(OperatorTotal(state=state, operators=counts[state]) for state in STATES if counts[state]),
        not_tested=total - len(coverage.worst),
        why_none=coverage.why_none,
    )


def _letters(states: Iterable[OperatorState]) -> tuple[OperatorLetter, ...]:
    used = set(states)
    return tuple(
        OperatorLetter(letter=_letter(state), state=state, meaning=shown.meaning)
        for state, shown in STATES.items()
        if state in used
    )


def _letter(state: OperatorState | None) -> str:
    return STATES[state].word[0] if state is not None else "."


def _said(cells: Mapping[Column, Tested], columns: Sequence[Column]) -> tuple[OperatorSaid, ...]:
    """The texts of an operator's tests that are not plainly native, passed or on the fallback."""
    said: dict[str, list[str]] = {}
    for column in columns:
        if column in cells and cells[column].message:
            said.setdefault(_cause(cells[column].message or ""), []).append(f"{column.kind} {column.dtype}".strip())
    return tuple(OperatorSaid(where=", ".join(where), text=text) for text, where in said.items())


def _cause(message: str) -> str:
    """The error in a message, without the sample, which takes most of the line."""
    line = one_line(message, 2_000)
    sample = line.find("sample ")
    end = line.find("): ", sample) if sample >= 0 else -1
    return one_line(line[end + 3 :] if end >= 0 else line, REASON_LIMIT)
