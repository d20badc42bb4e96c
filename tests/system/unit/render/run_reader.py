"""Reading the files of runs as somebody else would, from what their schema says and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Told:
    """What a file says of one test."""

    outcome: str
    suite: str
    capability: str | None
    flaky: bool
    known: bool


def rows(text: str) -> Iterator[int]:
    """The rows that a text names."""
    row = 0
    for part in text.split():
        gap, _, more = part.partition("+")
        row += int(gap)
        yield row
        for _ in range(int(more or 0)):
            row += 1
            yield row


def read_run(path: Path) -> dict[str, Told]:
    """What came of every test of the run whose file this is, by id."""
    run = json.loads(path.read_text(encoding="utf-8"))
    found: dict[int, str] = {}
    texts = json.loads((path.parent / run["rows"]).read_text(encoding="utf-8"))["rows"]
    for entry in run["outcomes"]:
        found.update(dict.fromkeys(rows(texts[entry["rows"]]), entry["outcome"]))
    assert not run["outcomes"] or set(found) == set(rows(texts[run["outcomes"][0]["rows"]]))
    flaky, known = set(rows(run["flaky"])), set(rows(run["known"]))
    folder, each = path.parent / run["tests"], run["tests_each"]
    tables = {number: _table(folder / f"{number}.json", number * each) for number in {row // each for row in found}}
    told = {}
    for row, outcome in found.items():
        test = tables[row // each][row % each]
        told[test["id"]] = Told(outcome, test["suite"], test["capability"], row in flaky, row in known)
    assert len(told) == len(found), "a test is in the run twice"
    return told


def _table(path: Path, first: int) -> list[dict[str, Any]]:
    table = json.loads(path.read_text(encoding="utf-8"))
    assert table["first"] == first
    tests: list[dict[str, Any]] = table["tests"]
    return tests
