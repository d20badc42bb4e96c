"""The matrix of devices and operators, and a device's of operators and dtypes: what runs where, and how."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from markupsafe import Markup

from ootci.history.operators import SUITE, Column, OperatorsOfRun, Tested
from ootci.model.device import Device
from ootci.model.operator import OperatorState
from ootci.model.run import Run

from .front import DeviceRow
from .status import Status
from .text import one_line

ROWS_LIMIT = 1000
"""Operators that the matrix has room for: those that most devices test."""
CELLS_LIMIT = 12_000
"""Cells that a device's own matrix has room for; the suite fills about 4,000."""
REASONS = 250
"""Operators of which a page shows what their tests said."""
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
        """A cell. There may be many thousands on a page, so that every byte counts."""
        return Markup("<td class={}>{}<i>{}</i></td>").format(self.key, self.word[0], self.word[1:])


STATES: Mapping[OperatorState, Shown] = MappingProxyType(
    {
        S.NATIVE: Shown("Native", "like the CPU, and all of it ran on the device", is_fine=True),
        S.PASSED: Shown("Passed", "like the CPU; the device does not count what it leaves to the CPU", is_fine=True),
        S.FALLBACK: Shown("Fallback", "like the CPU, because some of it ran there"),
        S.UNSUPPORTED: Shown("Unsupported", "the device says that it has no kernel"),
        S.MISMATCH: Shown("Mismatch", "not like the CPU: other values, or an error"),
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
CELLS = {state: shown.cell for state, shown in STATES.items()}
NO_CELL = Markup("<td></td>")
ALWAYS_COUNTED = (S.NATIVE, S.FALLBACK, S.UNSUPPORTED, S.MISMATCH, S.CRASH)


@dataclass(frozen=True)
class DeviceCoverage:
    """What is kept of a device for the matrix: the worst of each operator; or why there is nothing."""

    worst: Mapping[str, OperatorState]
    why_none: str | None


@dataclass(frozen=True)
class CoverageRow:
    """One operator: what became of it in each column, None where it was not tested."""

    name: str
    states: tuple[OperatorState | None, ...]
    reasons: tuple[Reason, ...] = ()

    @property
    def cells(self) -> Markup:
        """The cells."""
        return Markup("").join(NO_CELL if state is None else CELLS[state] for state in self.states)

    @property
    def is_fine(self) -> bool:
        """Whether nobody has to look at any of them."""
        return all(state is None or STATES[state].is_fine for state in self.states)


@dataclass(frozen=True)
class Reason:
    """What tests of an operator said, and in which columns."""

    where: str
    text: str


@dataclass(frozen=True)
class Summary:
    """One device: how many operators are in which state; the reason where none was tested."""

    device: DeviceRow
    counts: tuple[int, ...]
    not_tested: int
    why_none: str | None


@dataclass(frozen=True)
class CoveragePage:
    """The matrix of operators and devices."""

    counted: tuple[Shown, ...]
    summaries: tuple[Summary, ...]
    devices: tuple[DeviceRow, ...]
    rows: tuple[CoverageRow, ...]
    legend: tuple[Shown, ...]
    fine: str
    more: int


@dataclass(frozen=True)
class DeviceCoveragePage:
    """One device's matrix of operators and dtypes."""

    device: Device
    status: Status
    why_none: str | None
    counts: tuple[tuple[Shown, int], ...]
    columns: tuple[tuple[str, str], ...]
    rows: tuple[CoverageRow, ...]
    legend: tuple[Shown, ...]
    fine: str
    more: int
    more_reasons: int
    run_href: str | None


def device_coverage(run: Run | None, tested: OperatorsOfRun | None) -> DeviceCoverage:
    """What the matrix needs of a device, from the run that its verdict is about."""
    if tested is not None and tested.tested:
        return DeviceCoverage(tested.worst(), None)
    return DeviceCoverage({}, _why_none(run))


def _why_none(run: Run | None) -> str:
    if run is None:
        return "no run to look at"
    report = next((report for report in run.suites if report.suite == SUITE), None)
    if report is None:
        return f"the run has no suite {SUITE}"
    return one_line(report.detail, REASON_LIMIT) if report.detail else f"the suite {SUITE} reported no operator"


def coverage_page(devices: Sequence[DeviceRow], found: Mapping[str, DeviceCoverage]) -> CoveragePage:
    """The matrix, with the devices in the order of the front page.

    Args:
        devices: the front page's rows.
        found: by device, what is known of its operators.

    """
    among = Counter(name for coverage in found.values() for name in coverage.worst)
    chosen = sorted(among, key=lambda name: (-among[name], name))[:ROWS_LIMIT]
    names = sorted(chosen, key=lambda name: (name.lower(), name))
    shown = [device for device in devices if found[device.name].worst]
    used = {state for coverage in found.values() for state in coverage.worst.values()}
    counted = [state for state in STATES if state in used or state in ALWAYS_COUNTED]
    return CoveragePage(
        counted=tuple(STATES[state] for state in counted),
        summaries=tuple(_summary(device, found[device.name], counted, len(among)) for device in devices),
        devices=tuple(shown),
        rows=tuple(CoverageRow(name, tuple(found[device.name].worst.get(name) for device in shown)) for name in names),
        legend=tuple(shown for state, shown in STATES.items() if state in used),
        fine=FINE,
        more=len(among) - len(names),
    )


def _summary(device: DeviceRow, coverage: DeviceCoverage, counted: Sequence[OperatorState], total: int) -> Summary:
    counts = Counter(coverage.worst.values())
    return Summary(
        device=device,
        counts=tuple(counts[state] for state in counted),
        not_tested=total - len(coverage.worst),
        why_none=coverage.why_none,
    )


def device_coverage_page(
    device: Device, row: DeviceCoverage, verdict: Status, tested: OperatorsOfRun | None, run_href: str | None
) -> DeviceCoveragePage:
    """A device's matrix.

    Args:
        device: the device.
        row: what the large matrix shows of it.
        verdict: its verdict as it is shown.
        tested: what its run tested.
        run_href: the page of that run.

    """
    rows, with_reasons = [], 0
    columns = tested.columns if tested else ()
    found = list(tested.tested.items()) if tested else []
    shown = found[: CELLS_LIMIT // max(1, len(columns))]
    for name, cells in shown:
        reasons = _reasons(cells, columns)
        with_reasons += bool(reasons)
        states = tuple(cells[column].state if column in cells else None for column in columns)
        rows.append(CoverageRow(name, states, reasons if with_reasons <= REASONS else ()))
    counts = Counter(row.worst.values())
    used = {item.state for _, cells in shown for item in cells.values()}
    return DeviceCoveragePage(
        device=device,
        status=verdict,
        why_none=row.why_none,
        counts=tuple((shown, counts[state]) for state, shown in STATES.items() if counts[state]),
        columns=tuple((column.kind, column.dtype) for column in columns),
        rows=tuple(rows),
        legend=tuple(shown for state, shown in STATES.items() if state in used),
        fine=FINE,
        more=(tested.left_out if tested else 0) + len(found) - len(shown),
        more_reasons=max(0, with_reasons - REASONS),
        run_href=run_href,
    )


def _reasons(cells: Mapping[Column, Tested], columns: Sequence[Column]) -> tuple[Reason, ...]:
    """What the tests of an operator said that are not plainly native, passed or on the fallback."""
    said: dict[str, list[str]] = {}
    for column in columns:
        if column in cells and cells[column].message:
            said.setdefault(_cause(cells[column].message or ""), []).append(f"{column.kind} {column.dtype}".strip())
    return tuple(Reason(", ".join(where), text) for text, where in said.items())


def _cause(message: str) -> str:
    """What a message says happened, without the sample that it happened to, which takes most of the line."""
    line = one_line(message, 2_000)
    sample = line.find("sample ")
    end = line.find("): ", sample) if sample >= 0 else -1
    return one_line(line[end + 3 :] if end >= 0 else line, REASON_LIMIT)
