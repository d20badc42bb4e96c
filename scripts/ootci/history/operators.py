"""The result of each operator and dtype in a run, by the tests of the suite ``ops``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from sys import intern

from ootci.model.outcome import Outcome, OutcomeName, Way


class OperatorState(str, Enum):
    """The result of an operator, the worst first: of several tests the worst counts."""

    CRASH = "crash"
    TIMED_OUT = "timed_out"
    MISMATCH = "mismatch"
    ERROR = "error"
    NOT_RUN = "not_run"
    XPASSED = "xpassed"
    UNSUPPORTED = "unsupported"
    FALLBACK = "fallback"
    XFAILED = "xfailed"
    PASSED = "passed"
    """It equals the cpu, and the device does not count what runs there."""
    NATIVE = "native"
    CONTROL = "control"
    """The cpu itself is no reference."""


SUITE = "ops"
KINDS = ("forward", "backward", "out", "errors")
"""The kinds of test that the suite has of an operator, in the order in which they are shown."""
OPERATORS_LIMIT = 1000
"""More operators of one run than this are not looked at; PyTorch has about 700."""
COLUMNS_LIMIT = 24
"""More kinds and dtypes of one run than this are not looked at; the suite has nine."""

DTYPES = ("float32", "float16", "bfloat16", "complex64", "int64", "bool")
"""The dtypes of the suite, in the order in which they are shown; others come after them."""

_TEST = re.compile(
    r"ops/test_(?P<kind>[a-z]+)\.py::test_(?P=kind)\[(?P<name>[\w.]{1,80})(-(?P<dtype>\w{1,20}))?\]", re.A
)


WORST = {state: rank for rank, state in enumerate(OperatorState)}

_STATES = {
    OutcomeName.CRASHED: OperatorState.CRASH,
    OutcomeName.TIMED_OUT: OperatorState.TIMED_OUT,
    OutcomeName.FAILED: OperatorState.MISMATCH,
    OutcomeName.ERROR: OperatorState.ERROR,
    OutcomeName.NOT_RUN: OperatorState.NOT_RUN,
    OutcomeName.XPASSED: OperatorState.XPASSED,
    OutcomeName.UNSUPPORTED: OperatorState.UNSUPPORTED,
    OutcomeName.XFAILED: OperatorState.XFAILED,
    OutcomeName.SKIPPED: OperatorState.CONTROL,
}
_WAYS = {Way.FALLBACK: OperatorState.FALLBACK, Way.NATIVE: OperatorState.NATIVE, None: OperatorState.PASSED}


@dataclass(frozen=True)
class Column:
    """A kind of test and a dtype; wrong calls have none."""

    kind: str
    dtype: str = ""

    @property
    def place(self) -> tuple[int, int, str]:
        """Where it is shown among others."""
        rank = DTYPES.index(self.dtype) if self.dtype in DTYPES else len(DTYPES)
        return KINDS.index(self.kind), rank, self.dtype


@dataclass(frozen=True)
class Tested:
    """The result of one operator in one column, and the text of the test."""

    state: OperatorState
    message: str | None


@dataclass(frozen=True)
class OperatorsOfRun:
    """Every operator that a run tested.

    Attributes:
        columns: kinds and dtypes that it tested, in order.
        tested: by operator, in the order of names, and by column.
        left_out: operators beyond :data:`OPERATORS_LIMIT`.

    """

    columns: tuple[Column, ...]
    tested: Mapping[str, Mapping[Column, Tested]]
    left_out: int

    def worst(self) -> dict[str, OperatorState]:
        """The worst that became of each operator."""
        return {
            name: min((item.state for item in found.values()), key=WORST.__getitem__)
            for name, found in self.tested.items()
        }


def operators_of(outcomes: Iterable[Outcome]) -> OperatorsOfRun:
    """The result of each operator, by the tests of a run; other tests are passed over."""
    found: dict[str, dict[Column, Tested]] = {}
    for outcome in outcomes:
        place = _place(outcome.id) if outcome.suite == SUITE else None
        if place is not None:
            name, column = place
            found.setdefault(name, {})[column] = Tested(state_of(outcome), outcome.message)
    names = sorted(found, key=lambda name: (name.lower(), name))
    shown = names[:OPERATORS_LIMIT]
    columns = sorted({column for name in shown for column in found[name]}, key=lambda column: column.place)
    return OperatorsOfRun(
        tuple(columns[:COLUMNS_LIMIT]), {name: found[name] for name in shown}, len(names) - len(shown)
    )


def state_of(outcome: Outcome) -> OperatorState:
    """A test's result for its operator."""
    return _WAYS[outcome.ran] if outcome.outcome is OutcomeName.PASSED else _STATES[outcome.outcome]


def operator_of(test_id: str) -> tuple[str, str] | None:
    """The operator and the dtype of a test of results forward; None for any other test."""
    place = _place(test_id)
    return (place[0], place[1].dtype) if place is not None and place[1].kind == "forward" else None


def _place(test_id: str) -> tuple[str, Column] | None:
    """The operator and the column of a test, if it is of an operator."""
    named = _TEST.fullmatch(test_id)
    if named is None or named["kind"] not in KINDS:
        return None
    return intern(named["name"]), Column(named["kind"], named["dtype"] or "")
