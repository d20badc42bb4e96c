"""What a run says of each operator: which tests are of one, what each means, and that the worst counts."""

from __future__ import annotations

import pytest

from ootci.history.operators import COLUMNS_LIMIT, OPERATORS_LIMIT, Column, OperatorState, operators_of, state_of
from ootci.model.outcome import Outcome, OutcomeName, Way


def outcome(kind: str, parameter: str, name: OutcomeName = OutcomeName.PASSED, ran: Way | None = None) -> Outcome:
    return Outcome(id=f"ops/test_{kind}.py::test_{kind}[{parameter}]", suite="ops", outcome=name, ran=ran)


@pytest.mark.parametrize(
    ("name", "ran", "state"),
    [
        (OutcomeName.PASSED, Way.NATIVE, OperatorState.NATIVE),
        (OutcomeName.PASSED, Way.FALLBACK, OperatorState.FALLBACK),
        (OutcomeName.PASSED, None, OperatorState.PASSED),
        (OutcomeName.FAILED, Way.NATIVE, OperatorState.MISMATCH),
        (OutcomeName.CRASHED, None, OperatorState.CRASH),
        (OutcomeName.UNSUPPORTED, None, OperatorState.UNSUPPORTED),
        (OutcomeName.SKIPPED, None, OperatorState.CONTROL),
        (OutcomeName.NOT_RUN, None, OperatorState.NOT_RUN),
    ],
)
def test_what_a_test_says(name: OutcomeName, ran: Way | None, state: OperatorState) -> None:
    assert state_of(outcome("forward", "add-float32", name, ran)) is state


def test_every_outcome_means_something() -> None:
    assert all(state_of(outcome("forward", "add-float32", name)) for name in OutcomeName)


def test_the_worst_of_all_dtypes_and_kinds_counts() -> None:
    native = outcome("forward", "add-float32", ran=Way.NATIVE)
    found = operators_of(
        (
            native,
            outcome("forward", "add-int64", ran=Way.FALLBACK),
            outcome("errors", "add", OutcomeName.SKIPPED),
            outcome("backward", "linalg.qr-float32", OutcomeName.CRASHED),
            outcome("forward", "linalg.qr-float32", OutcomeName.FAILED),
            outcome("errors", "T", OutcomeName.SKIPPED),
        )
    )
    assert found.worst() == {
        "add": OperatorState.FALLBACK,
        "linalg.qr": OperatorState.CRASH,
        "T": OperatorState.CONTROL,
    }
    assert list(found.tested) == ["add", "linalg.qr", "T"]
    assert found.columns == (
        Column("forward", "float32"),
        Column("forward", "int64"),
        Column("backward", "float32"),
        Column("errors"),
    )


@pytest.mark.parametrize(
    "test",
    [
        "ops/test_modules.py::test_module_forward[nn.Linear-train-float32]",
        "ops/test_optimizers.py::test_optimizer[Adam-foreach]",
        "ops/test_forward.py::test_backward[add-float32]",
        "ops/test_forward.py::test_forward[<script>-float32]",
        "ops/test_forward.py::test_forward[add-float32] #2",
        "ops/test_forward.py::test_forward",
    ],
)
def test_tests_of_something_else_are_passed_over(test: str) -> None:
    assert not operators_of((Outcome(id=test, suite="ops", outcome=OutcomeName.PASSED),)).tested


def test_another_suite_has_no_operators() -> None:
    test = outcome("forward", "add-float32").model_copy(update={"suite": "integration"})
    assert not operators_of((test,)).tested


def test_a_run_that_names_too_many_is_cut_and_says_so() -> None:
    found = operators_of(outcome("forward", f"op{number:05d}-d{number}") for number in range(OPERATORS_LIMIT + 7))
    assert len(found.tested) == OPERATORS_LIMIT
    assert found.left_out == 7
    assert len(found.columns) == COLUMNS_LIMIT
