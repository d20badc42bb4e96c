"""The judge's answers about an invented world, night by night, against the truth: every page has to be right."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from drawn import deep
from simulator import World
from simulator.memory import Memory
from simulator.score import Score
from simulator.truth import Truth

TESTS = 300
"""So many tests each device runs at the beginning: suites shrink by 88 of them, and by one."""


def _judged(world: World, folder: Path) -> Score:
    """What the page said on each night, with what had been reported by then, held against the truth."""
    history, score = Memory(folder), Score()
    for night, expected in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.take(night)
        score.add(world, night, expected, history.judge(night.registry, night.now))
    return score


@pytest.mark.parametrize("nights", [60, deep(365)])
def test_every_planted_event_is_judged_and_dated_rightly(
    nights: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(1, nights=nights, tests=TESTS)
    score = _judged(world, tmp_path)
    with capsys.disabled():
        sys.stdout.write("\n".join(["", score.table(), "", *score.mistakes, ""]))
    assert score.missed(world) == [], "of these planted events a page was wrong"
    assert score.mistakes == []
    assert (score.false_alarms, score.missed_alarms, score.false_changes, score.false_blame) == (0, 0, 0, 0)
