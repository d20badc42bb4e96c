"""The matrix of devices and operators, and a device's of operators and dtypes: what runs where, and how."""

from __future__ import annotations

from ootci.model.operator import OperatorState
from ootci.model.record import Record

from .published import Compact


class OperatorLetter(Record):
    """The letter that stands for what became of an operator."""

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


class OperatorRow(Record):
    """An operator on every device."""

    operator: str
    """Its name."""
    devices: str
    """A letter for each device of `columns`, of its tests there the worst; `.` where it was not tested."""


class OperatorsFile(Compact):
    """operators.json: the matrix of operators and devices."""

    page: str
    """Address of the same for people."""
    letters: tuple[OperatorLetter, ...]
    """What the letters stand for."""
    devices: tuple[DeviceOperators, ...]
    """What needs a person first, within a tier."""
    columns: tuple[str, ...]
    """Those of them that tested an operator."""
    operators: tuple[OperatorRow, ...]
    """By name."""
    more: int
    """How many were left out because there were too many."""


class OperatorColumn(Record):
    """A kind of test and a dtype."""

    kind: str
    """The kind of test, such as `forward`."""
    dtype: str | None
    """The dtype; null for a kind that has none."""


class OperatorSaid(Record):
    """What tests of an operator said."""

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
    """What its tests said that are not simply fine."""


class DeviceOperatorsFile(Compact):
    """operators/<device>.json: a device's matrix of operators and dtypes, by the run that its verdict is about."""

    device: str
    """Name of the device."""
    page: str
    """Address of the same for people."""
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
    """Of how many operators it was left out what their tests said."""
