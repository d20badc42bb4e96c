"""The operators that a run used: which ran on the device, and which it left to the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ootci.model.run import OperatorCount

from .room import NAMES, Room
from .text import one_line


@dataclass(frozen=True)
class OperatorRow:
    """One operator that ran on the CPU at least once."""

    name: str
    native: int
    fallback: int


@dataclass(frozen=True)
class OperatorsView:
    """What the page says about operators.

    Attributes:
        used: operators that were used.
        native: those of them that always ran on the device.
        fallbacks: those that did not, the most frequent first, as many as have room.
        more: those that had none.

    """

    used: int
    native: int
    fallbacks: tuple[OperatorRow, ...]
    more: int


def operators_view(operators: Sequence[OperatorCount], whole: Room) -> OperatorsView | None:
    """The operators of a run; None when the device does not count them; ``whole`` is the room of the page."""
    if not operators:
        return None
    fell_back = sorted(
        (item for item in operators if item.fallback > 0), key=lambda item: (-item.fallback, item.operator)
    )
    room, rows = whole.part(NAMES), []
    for item in fell_back:
        row = OperatorRow(one_line(item.operator, 120), item.native, item.fallback)
        if not room.takes(row.name):
            break
        rows.append(row)
    return OperatorsView(
        used=len(operators),
        native=len(operators) - len(fell_back),
        fallbacks=tuple(rows),
        more=len(fell_back) - len(rows),
    )
