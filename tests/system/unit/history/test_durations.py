"""How long tests took lately: of the last runs that tested anything, and of tests that were run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from unit.samples import run

from ootci.history.durations import RUNS, measured
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
