"""What works where, for programs: the same as on the pages of capabilities and of operators."""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType

from ootci.model.operator import OperatorState

from .capabilities import CapabilitiesPage, MatrixRow
from .coverage import STATES, CoveragePage, CoverageRow, DeviceCoveragePage, Shown, Summary
from .links import device_path, operators_path
from .pages.capabilities import CapabilitiesFile, CapabilityEntry, DeviceCapabilities
from .pages.operators import (
    DeviceOperators,
    DeviceOperatorsFile,
    OperatorCells,
    OperatorColumn,
    OperatorLetter,
    OperatorRow,
    OperatorSaid,
    OperatorsFile,
    OperatorTotal,
)

OPERATORS = "operators"
_TOP = "../../"
_NAMES = MappingProxyType({shown: state for state, shown in STATES.items()})


def capabilities_file(page: CapabilitiesPage) -> bytes:
    """The matrix of devices and capabilities."""
    file = CapabilitiesFile(
        page=f"{_TOP}capabilities/index.html",
        capabilities=page.names,
        more=page.more,
        devices=tuple(_capabilities(row) for row in page.rows),
    )
    return file.to_json().encode("utf-8")


def _capabilities(row: MatrixRow) -> DeviceCapabilities:
    found = tuple(
        CapabilityEntry(capability=cell.name, state=cell.state, counts=cell.counts)
        for cell in row.cells
        if cell is not None and cell.state is not None
    )
    return DeviceCapabilities(device=row.device.name, page=f"{_TOP}{device_path(row.device.name)}", capabilities=found)


def operators_file(page: CoveragePage) -> bytes:
    """The matrix of operators and devices."""
    file = OperatorsFile(
        page=f"{_TOP}{operators_path()}",
        letters=_letters(page.legend),
        devices=tuple(_totals(row, page.counted) for row in page.summaries),
        columns=tuple(device.name for device in page.devices),
        operators=tuple(OperatorRow(operator=row.name, devices=_cells(row)) for row in page.rows),
        more=page.more,
    )
    return file.to_json().encode("utf-8")


def device_operators_file(page: DeviceCoveragePage) -> bytes:
    """A device's matrix of operators and dtypes."""
    top, name = f"../{_TOP}", page.device.name
    file = DeviceOperatorsFile(
        device=name,
        page=f"{top}{operators_path(name)}",
        run_page=f"{top}{page.run_href}" if page.run_href else None,
        why_none=page.why_none,
        letters=_letters(page.legend),
        columns=tuple(OperatorColumn(kind=kind, dtype=dtype or None) for kind, dtype in page.columns),
        operators=tuple(
            OperatorCells(
                operator=row.name,
                cells=_cells(row),
                said=tuple(OperatorSaid(where=reason.where, text=reason.text) for reason in row.reasons),
            )
            for row in page.rows
        ),
        more=page.more,
        more_said=page.more_reasons,
    )
    return file.to_json().encode("utf-8")


def _totals(row: Summary, counted: tuple[Shown, ...]) -> DeviceOperators:
    return DeviceOperators(
        device=row.device.name,
        page=f"{_TOP}{operators_path(row.device.name)}",
        path=f"{OPERATORS}/{row.device.name}.json",
        totals=tuple(
            OperatorTotal(state=_NAMES[shown], operators=count)
            for shown, count in zip(counted, row.counts, strict=True)
            if count
        ),
        not_tested=row.not_tested,
        why_none=row.why_none,
    )


def _letters(legend: Iterable[Shown]) -> tuple[OperatorLetter, ...]:
    return tuple(
        OperatorLetter(letter=_letter(_NAMES[shown]), state=_NAMES[shown], meaning=shown.meaning) for shown in legend
    )


def _cells(row: CoverageRow) -> str:
    return "".join("." if state is None else _letter(state) for state in row.states)


def _letter(state: OperatorState) -> str:
    """The letter that the page shows."""
    return STATES[state].word[0]
