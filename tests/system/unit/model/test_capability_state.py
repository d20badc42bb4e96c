"""What the cell of a capability says: green only where every test that applies passed, and proves something."""

from __future__ import annotations

import pytest

from ootci.model.capability import CapabilityState
from ootci.model.outcome import Counts
from ootci.model.run import CapabilityCounts
from ootci.stages.render.status import outcomes as in_words
from ootci.stages.render.status import works

CASES = [
    ({"passed": 8}, 0, "works", "works"),
    ({"passed": 8}, 8, "works", "works"),
    ({"passed": 1, "unsupported": 7}, 0, "part", "part: 1 of 8"),
    ({"passed": 1, "unsupported": 7}, 1, "unsupported", "unsupported"),
    ({"passed": 2, "unsupported": 6}, 1, "part", "part: 2 of 8"),
    ({"unsupported": 8}, 0, "unsupported", "unsupported"),
    ({"passed": 7, "xpassed": 1}, 0, "part", "part: 7 of 8"),
    ({"passed": 7, "xfailed": 1}, 0, "xfailed", "1 by a defect of PyTorch"),
    ({"passed": 6, "xfailed": 1, "unsupported": 1}, 0, "part", "part: 6 of 8"),
    ({"passed": 6, "failed": 1, "xfailed": 1}, 0, "failing", "1 failing"),
    ({"passed": 7, "crashed": 1}, 0, "failing", "1 failing"),
    ({"passed": 7, "not_run": 1}, 0, "not_run", "1 not run"),
    ({"passed": 4, "skipped": 4}, 0, "works", "works"),
    ({"passed": 3, "skipped": 5}, 0, "skipped", "5 of 8 skipped"),
    ({"passed": 3, "skipped": 4, "unsupported": 1}, 0, "part", "part: 3 of 4"),
    ({"skipped": 8}, 0, "skipped", "8 of 8 skipped"),
]
"""Outcomes, how many of those that passed are trivial, the state, and what the cell says."""


@pytest.mark.parametrize(("outcomes", "trivial", "state", "word"), CASES)
def test_a_cell_is_green_only_where_everything_that_applies_passed(
    outcomes: dict[str, int], trivial: int, state: str, word: str
) -> None:
    found = CapabilityCounts(capability="views", counts=Counts(**outcomes), trivial=trivial)
    assert found.state is CapabilityState(state)
    assert works(found).word == word
    assert (works(found).tone == "good") == (state == "works")
    assert in_words(found.counts) == ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in outcomes.items())
