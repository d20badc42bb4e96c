"""How long tests took lately: of the last runs that tested anything, and of tests that were run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from unit.samples import run

from ootci.history.durations import RUNS, averaged, measured
from ootci.model.durations import MAX_TESTS, Durations
from ootci.model.run import Run


def _lasting(number: int, seconds: float, **tests: str) -> Run:
    made = run(number, smoke=tests, integration={})
    outcomes = tuple(item.model_copy(update={"duration": seconds}) for item in made.outcomes)
    return made.model_copy(update={"outcomes": outcomes})


def test_the_median_of_the_last_runs_counts() -> None:
    runs = [_lasting(n, n, a="passed", b="failed") for n in (2, 8, 1)] + [_lasting(0, 99, a="passed")]
    assert measured(runs) == {"smoke/test_x.py::a": 2, "smoke/test_x.py::b": 2}


def test_what_did_not_run_was_not_measured() -> None:
    assert measured([_lasting(0, 1, a="skipped", b="not_run", c="unsupported", d="crashed")]) == {
        "smoke/test_x.py::d": 1
    }
    broken = run(1, smoke={}, integration={})
    assert measured([broken, broken, broken, _lasting(0, 3, a="passed")]) == {"smoke/test_x.py::a": 3}
    assert measured([]) == {}


def test_older_runs_are_not_even_read() -> None:
    def newest_first() -> Iterator[Run]:
        for number in range(RUNS, 0, -1):
            yield _lasting(number, 1, a="passed")
        pytest.fail("one run too many was read")

    assert measured(newest_first()) == {"smoke/test_x.py::a": 1}


def test_a_run_counts_half_and_what_it_did_not_test_stays() -> None:
    ran = _lasting(0, 4, a="passed", b="skipped", c="failed")
    before = {"smoke/test_x.py::a": 2.0, "smoke/test_x.py::b": 7.0, "smoke/test_x.py::gone": 1.0}
    assert averaged(before, ran) == {**before, "smoke/test_x.py::a": 3, "smoke/test_x.py::c": 4}


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_what_is_no_time_is_not_kept(seconds: float) -> None:
    assert measured([_lasting(0, seconds, a="passed")]) == {}


def test_what_is_kept_has_a_bound_and_forgets_what_is_gone_first() -> None:
    before = {f"smoke/test_x.py::{number}": 1.0 for number in range(MAX_TESTS)}
    kept = averaged(before, _lasting(0, 3, z="passed"))
    assert (len(kept), kept["smoke/test_x.py::z"]) == (MAX_TESTS, 3)
    assert Durations(devices={"dev": kept})
