"""Nights of a device that runs PyTorch's own tests, each test's outcomes written as letters."""

from __future__ import annotations

from collections.abc import Mapping

from unit.samples import plan, run

from ootci.model.plan import Plan, PlannedSuite
from ootci.model.run import Run

SUITES = (PlannedSuite(name="smoke"), PlannedSuite(name="upstream"))
_OUTCOMES = {"p": "passed", "f": "failed", "s": "skipped", "x": "xfailed", "n": "not_run"}


def upstream_nights(letters: Mapping[str, str], name: str = "dev") -> list[Plan | Run]:
    """Plans and runs.

    Args:
        letters: a letter for each night, by test below ``upstream/``; a dot where the test is not there.

    """
    found: list[Plan | Run] = []
    for number in range(max(map(len, letters.values()))):
        tonight = {test: row[number] for test, row in letters.items() if row[number : number + 1].strip(".")}
        made = run(
            number, name, suite="upstream", integration={test: _OUTCOMES[letter] for test, letter in tonight.items()}
        )
        found += [plan(number, (name,), suites=SUITES), made]
    return found
