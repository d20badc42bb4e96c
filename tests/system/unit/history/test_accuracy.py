"""Accuracy regressions: on unchanged tests, by more than chance, and since which night."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from unit.samples import night, plan, run

from ootci.history.accuracy import NIGHTS, AccuracyNight, accuracy_nights, accuracy_regressions
from ootci.history.store import History
from ootci.history.stored import StoredRun, stored
from ootci.model.accuracy import Accuracy
from ootci.model.device import BadRange
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import Environment

EXP = ("exp", "float32")
TEST = "ops/test_forward.py::test_forward[exp-float32]"


def errors(largest: float | None, cpu: float | None = 1.0, results: int = 100) -> Accuracy:
    return Accuracy(results, largest, 0.5, cpu, 0.5)


def since(*told: Accuracy | None) -> tuple[int, float] | None:
    """On which of the nights the error of exp grew, and from what."""
    nights = [
        AccuracyNight(plan(number), stored(run(number)), {EXP: item} if item is not None else {})
        for number, item in enumerate(told)
    ]
    found = accuracy_regressions(nights).get(EXP)
    if found is None:
        return None
    assert found.since == night([item.plan.id for item in nights].index(found.plan_id)).date()
    return [item.plan.id for item in nights].index(found.plan_id), found.before


def largest(*sizes: float | None) -> list[Accuracy]:
    return [errors(size) for size in sizes]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((2, 2, 2, 37), (3, 2)),
        ((2, 2, 2, 37, 37), (3, 2)),
        ((2, 1, 3, 12), (3, 3)),
        ((2, 1, 3, 11.9), None),
        ((2, 2, 2, 37, 2), None),
        ((2, 2, 2, 37, 2, 37), None),
        ((2, 37), None),
        ((2, 2, 37), None),
        ((0, 0, 0, 4), (3, 0)),
        ((0, 0, 0, 3.9), None),
        ((0.5, 0.5, 0.5, 3), None),
        ((2, 2, 2, None), (3, 2)),
        ((None, None, None, None), None),
        ((None, 2, 2, 2, 37), None),
        ((2, 2, 2, 37, None), (3, 2)),
        ((1, 1, 1, 5, 30), (3, 1)),
        ((), None),
    ],
)
def test_an_error_grew_by_the_stated_factor(sizes: Sequence[float | None], expected: tuple[int, float] | None) -> None:
    assert since(*largest(*sizes)) == expected


@pytest.mark.parametrize(
    ("newest", "expected"),
    [
        (errors(37), (4, 2)),
        (errors(37, cpu=3.9), (4, 2)),
        # Other samples, or another instruction set of the CPU.
        (errors(37, cpu=4.0), None),
        (errors(37, results=101), None),
        (errors(37, cpu=None), None),
    ],
)
def test_only_an_unchanged_test_is_compared(newest: Accuracy, expected: tuple[int, float] | None) -> None:
    assert since(*largest(2, 2, 2, 2), newest) == expected


def test_nights_without_the_test_and_tests_that_are_gone_tell_nothing() -> None:
    assert since(errors(2), None, errors(2), errors(2), None, errors(37)) == (5, 2)
    assert since(*largest(2, 2, 2), None) is None


def _measured(number: int, size: float) -> Outcome:
    return Outcome(id=TEST, suite="ops", outcome=OutcomeName.PASSED, accuracy=errors(size))


def _history(
    folder: Path, nights: int, versions: Sequence[str | None] = ()
) -> tuple[History, list[tuple[Plan, StoredRun]]]:
    history = History(folder)
    for number in range(nights):
        history.append_plan(plan(number))
        environment = Environment(ootci=versions[number] if versions else None)
        outcomes = (_measured(number, number),)
        history.append_run(run(number).model_copy(update={"environment": environment, "outcomes": outcomes}))
    runs = {item.head.plan_id: item for item in history.stored_runs("dev")}
    return history, [(item, runs[item.id]) for item in reversed(history.plans())]


def test_the_last_nights_are_read_and_bad_ones_left_out(tmp_path: Path) -> None:
    history, told = _history(tmp_path, NIGHTS + 3)
    found = accuracy_nights(history, told, ())
    assert [item.errors[EXP].device_largest for item in found] == list(range(3, NIGHTS + 3))
    bad = BadRange(first=night(5).date(), last=night(5).date(), reason="no network", link="https://example.com/1")
    found = accuracy_nights(history, told, (bad,))
    assert [item.errors[EXP].device_largest for item in found] == [2, 3, 4, *range(6, NIGHTS + 3)]


def test_the_newest_night_is_there_also_where_it_is_compared_with_none(tmp_path: Path) -> None:
    history, told = _history(tmp_path, 5)
    bad = BadRange(first=night(4).date(), last=night(4).date(), reason="no network", link="https://example.com/1")
    assert [item.errors[EXP].device_largest for item in accuracy_nights(history, told, (bad,))] == [4]


def test_nights_of_another_version_of_the_suite_are_left_out(tmp_path: Path) -> None:
    history, told = _history(tmp_path, 5, ("0.1.0", "0.1.0", None, "0.2.0", "0.1.0"))
    for newest, compared in ((0, [0, 1, 4]), (1, [3]), (2, [2]), (3, [0, 1])):
        found = accuracy_nights(history, told[newest:], ())
        assert [item.errors[EXP].device_largest for item in found] == compared


def test_other_tests_and_runs_without_details_have_no_errors(tmp_path: Path) -> None:
    history, told = _history(tmp_path, 2)
    other = [Outcome(id="models/a.py::b", suite="models", outcome=OutcomeName.PASSED, accuracy=errors(1))]
    history.append_plan(plan(2))
    history.append_run(run(2).model_copy(update={"outcomes": tuple(other)}))
    newest = history.stored_runs("dev")[-1]
    found = accuracy_nights(history, [(plan(2), newest), *told], ())
    assert [sorted(item.errors) for item in found] == [[EXP], [EXP], []]
