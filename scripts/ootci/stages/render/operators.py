"""The operators that a run used: which ran on the device, and which it left to the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ootci.model.run import OperatorCount

from .text import one_line

NAMED = 100
"""Operators that are named; the others are counted."""


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
        fallbacks: those that did not, the most frequent first.
        more: how many of them are not named.

    """

    used: int
    native: int
    fallbacks: tuple[OperatorRow, ...]
    more: int


def operators_view(operators: Sequence[OperatorCount]) -> OperatorsView | None:
    """The operators of a run; None when the device does not count them."""
    if not operators:
        return None
    fell_back = sorted(
        (item for item in operators if item.fallback > 0), key=lambda item: (-item.fallback, item.operator)
    )
    return OperatorsView(
        used=len(operators),
        native=len(operators) - len(fell_back),
        fallbacks=tuple(
            OperatorRow(one_line(item.operator, 120), item.native, item.fallback) for item in fell_back[:NAMED]
        ),
        more=len(fell_back[NAMED:]),
    )
