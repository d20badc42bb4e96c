"""Nights of a device that runs PyTorch's own tests, each test's outcomes written as letters."""

from __future__ import annotations

from collections.abc import Mapping

from unit.samples import OUTCOMES, plan, run

from ootci.model.plan import Plan, PlannedSuite
from ootci.model.run import Run

SUITES = (PlannedSuite(name="smoke"), PlannedSuite(name="upstream"))


def upstream_nights(letters: Mapping[str, str], name: str = "dev") -> list[Plan | Run]:
    """Plans and runs.

    Args:
        letters: a letter for each night, by test below ``upstream/``; a dot where the test is not there.

    """
    found: list[Plan | Run] = []
    for number in range(max(map(len, letters.values()))):
        tonight = {test: row[number] for test, row in letters.items() if row[number : number + 1].strip(".")}
        made = run(
            number, name, suite="upstream", integration={test: OUTCOMES[letter] for test, letter in tonight.items()}
        )
        found += [plan(number, (name,), suites=SUITES), made]
    return found
