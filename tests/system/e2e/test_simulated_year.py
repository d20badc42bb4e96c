"""The judge's answers about an invented world, night by night, against the truth: every page has to be right."""

from __future__ import annotations

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
def test_every_planted_event_is_judged_and_dated_rightly(nights: int, tmp_path: Path) -> None:
    assert _judged(World(1, nights=nights, tests=TESTS), tmp_path).mistakes == []
