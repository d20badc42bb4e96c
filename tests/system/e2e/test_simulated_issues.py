"""The issues of simulated worlds, night by night: for each planted event one, closed with one comment."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from drawn import deep_but
from simulator import World
from simulator.issues import IssueScore
from simulator.memory import Memory
from simulator.truth import Truth
from unit.stages.alert_nights import decided, done

from ootci.adapters.github_issues import Issue
from ootci.stages.alert import Act, remembered_in

NIGHTS = 60
DRAWN = (6,)
"""Worlds of `make test`: in this one an error begins on two nights in a row."""


def _score(world: World, folder: Path) -> IssueScore:
    """What became of the issues on each night, with the verdicts that were known by then."""
    history, score = Memory(folder), IssueScore(world)
    issues: tuple[Issue, ...] = ()
    for night, page in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.take(night)
        said = history.judge(night.registry, night.now)
        actions = decided(said, issues).actions
        known = {issue.number for issue in issues}
        issues = done(issues, actions)
        assert decided(said, issues).actions == (), "once done, nothing is left to do"
        kept = {issue.number: found for issue in issues if (found := remembered_in(issue.body))}
        again = [one.number for one in actions if one.act is Act.REOPEN and one.number is not None]
        closed = [one.number for one in actions if one.act is Act.CLOSE and one.number is not None]
        score.add(page, kept, [*sorted(kept.keys() - known), *again], closed)
    return score


@pytest.mark.parametrize("seed", deep_but(DRAWN, (*range(1, 21), *range(101, 121), *range(900, 920))))
def test_a_real_event_is_one_issue_and_one_comment(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("ootci.stages.alert.decide"), "NEW_ISSUES", 100)
    assert _score(World(seed, nights=NIGHTS), tmp_path).mistakes == []
