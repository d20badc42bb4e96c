"""Reading the files of runs as somebody else would, from what their schema says and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unit.render.pages import content


@dataclass(frozen=True)
class Told:
    """What a file says of one test."""

    outcome: str
    suite: str
    capability: str | None
    flaky: bool
    known: bool


NAMES = "passed failed error crashed timed_out skipped xfailed xpassed unsupported not_run"
OUTCOMES = dict(zip("pfectsxXun", NAMES.split(), strict=True))


def outcomes(text: str) -> dict[int, str]:
    """The outcome of each row that is in the run."""
    letters = "".join(letter * int(count or 1) for letter, count in re.findall(r"(\D)(\d*)", text))
    return {row: OUTCOMES[letter] for row, letter in enumerate(letters) if letter != "."}


def read_run(path: Path) -> dict[str, Told]:
    """What came of every test of the run whose file this is, by id."""
    run = content(path)
    found, flaky, known = outcomes(run["outcomes"]), set(run["flaky"]), set(run["known"])
    folder, each = path.parent / run["tests"], run["tests_each"]
    tables = {number: _table(folder / f"{number}.json", number * each) for number in {row // each for row in found}}
    told = {}
    for row, outcome in found.items():
        test = tables[row // each][row % each]
        told[test["id"]] = Told(outcome, test["suite"], test["capability"], row in flaky, row in known)
    assert len(told) == len(found), "a test is in the run twice"
    return told


def _table(path: Path, first: int) -> list[dict[str, Any]]:
    table = content(path)
    assert table["first"] == first
    tests: list[dict[str, Any]] = table["tests"]
    return tests
