"""The judge's answers about an invented world, night by night, against the truth. How right it is must not fall."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from drawn import deep
from simulator import World
from simulator.memory import Memory
from simulator.score import Score, text_of, worse
from simulator.truth import Truth

from ootci.stages.judge import Courses, judge

TESTS = 300
"""So many tests each device runs at the beginning: suites shrink by 88 of them, and by one."""
BEST = Path(__file__).parents[1] / "golden" / "simulated_year"


def _judged(world: World, folder: Path) -> Score:
    """What the page said on each night, with what had been reported by then, held against the truth."""
    history, score, courses = Memory(folder), Score(), Courses()
    for night, expected in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.take(night)
        score.add(world, night, expected, judge(night.registry, history, night.now, courses))
    return score


def _shown(score: Score, lines: Sequence[str]) -> str:
    return "\n".join(["", score.table(), "", *score.mistakes, *lines, ""])


@pytest.mark.parametrize("nights", [120, deep(365)])
def test_the_judge_is_not_less_right_than_it_was(
    nights: int, tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(1, nights=nights, tests=TESTS)
    score = _judged(world, tmp_path)
    best = BEST / f"score_{nights}.json"
    if pytestconfig.getoption("--update-golden"):
        best.write_text(text_of(score.numbers()), encoding="utf-8")
    fallen = worse(score.numbers(), json.loads(best.read_text(encoding="utf-8")))
    with capsys.disabled():
        sys.stdout.write(_shown(score, fallen))
    assert score.missed(world) == [], "of these planted events a page was wrong"
    assert fallen == [], "the judge got worse; if the world was changed, write the score with --update-golden"
