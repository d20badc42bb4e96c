"""The judge's answers about an invented world, night by night, against the truth. How right it is must not fall."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from simulator import World
from simulator.score import Score, text_of, worse
from simulator.truth import Truth

from ootci.history.store import History
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.stages.judge import judge

NIGHTS = 40
BEST = Path(__file__).parents[1] / "golden" / "simulated_year" / "score.json"


class Memory(History):
    """A history that is asked for everything on every night, and that no disk keeps waiting."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._plans: list[Plan] = []
        self._runs: dict[str, list[Run]] = {}

    def append_plan(self, plan: Plan) -> bool:
        self._plans.append(plan)
        return True

    def append_run(self, run: Run) -> bool:
        self._runs.setdefault(run.device, []).append(run)
        return True

    def plans(self) -> tuple[Plan, ...]:
        return tuple(self._plans)

    def runs(self, device: str) -> tuple[Run, ...]:
        return tuple(sorted(self._runs.get(device, ()), key=lambda run: (run.started_at, run.attempt)))


def _judged(world: World, folder: Path) -> Score:
    """What the page said on each night, with what had been reported by then, held against the truth."""
    history, score = Memory(folder), Score()
    for night, expected in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.append_plan(night.plan)
        for run in night.arrivals:
            history.append_run(run)
        score.add(world, night, expected, judge(night.registry, history, night.now))
    return score


def _shown(score: Score, lines: Sequence[str]) -> str:
    return "\n".join(["", score.table(), "", *score.mistakes, *lines, ""])


def test_the_judge_is_not_less_right_than_it_was(
    tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    score = _judged(World(1, nights=NIGHTS), tmp_path)
    if pytestconfig.getoption("--update-golden"):
        BEST.write_text(text_of(score.numbers()), encoding="utf-8")
    fallen = worse(score.numbers(), json.loads(BEST.read_text(encoding="utf-8")))
    with capsys.disabled():
        sys.stdout.write(_shown(score, fallen))
    assert fallen == [], "the judge got worse; if the world was changed, write the score with --update-golden"
