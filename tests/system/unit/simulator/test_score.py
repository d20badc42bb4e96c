"""The score: it falls when a judge is wrong, and says where."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from simulator import World
from simulator.score import Score, worse
from simulator.truth import Truth

from ootci.history.store import History
from ootci.model.cluster import Cause
from ootci.model.verdict import VerdictName, Verdicts
from ootci.stages.judge import Courses, judge

Pages = list[tuple[Verdicts, Callable[[Score, Verdicts], None]]]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """The judge's pages of a month, each with a way to hold one in its place against the truth."""
    world, history, courses = (
        World(1, nights=30, tests=120, devices=8),
        History(tmp_path_factory.mktemp("data")),
        Courses(),
    )
    found: Pages = []
    for night, expected in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.append_plan(night.plan)
        for run in night.arrivals:
            history.append_run(run)
        said = judge(night.registry, history, night.now, courses)
        found.append(
            (said, lambda score, page, night=night, expected=expected: score.add(world, night, expected, page))
        )
    return found


def _score(pages: Pages, change: Callable[[Verdicts], Verdicts] = lambda page: page) -> Score:
    score = Score()
    for said, hold in pages:
        hold(score, change(said))
    return score


def _each_device(page: Verdicts, **update: object) -> Verdicts:
    return page.model_copy(update={"devices": tuple(item.model_copy(update=update) for item in page.devices)})


def test_a_judge_that_is_right_is_said_to_be(pages: Pages) -> None:
    score = _score(pages)
    assert score.missed_alarms == 0
    assert score.right.total() > 0.97 * score.pages.total()
    assert worse(score.numbers(), score.numbers()) == []


def test_a_judge_that_calls_everything_well_misses_every_alarm(pages: Pages) -> None:
    best, score = _score(pages), _score(pages, lambda page: _each_device(page, verdict=VerdictName.OK))
    assert score.missed_alarms > 0
    assert score.false_alarms == 0
    fallen = worse(score.numbers(), best.numbers())
    assert any("pages, REGRESSED: 0" in line for line in fallen)
    assert any("missed alarms" in line for line in fallen)


def test_a_judge_that_calls_everything_broken_gives_false_alarms(pages: Pages) -> None:
    best, score = _score(pages), _score(pages, lambda page: _each_device(page, verdict=VerdictName.REGRESSED))
    assert score.false_alarms > best.false_alarms
    assert any("false alarms" in line for line in worse(score.numbers(), best.numbers()))


def test_a_judge_that_names_no_tests_is_wrong_about_them(pages: Pages) -> None:
    best, score = _score(pages), _score(pages, lambda page: _each_device(page, changes=()))
    assert any(", tests: 0, was" in line for line in worse(score.numbers(), best.numbers()))


def test_a_judge_that_says_since_when_a_night_late_is_wrong(pages: Pages) -> None:
    score = _score(pages, lambda page: _each_device(page, verdict_since=page.judged_at, broken_since=page.judged_at))
    assert (score.verdict_since, score.broken_since) == (0, 0)


@pytest.mark.parametrize("cause", [Cause.UNKNOWN, Cause.PLUGIN])
def test_a_judge_that_blames_all_alike_blames_falsely(pages: Pages, cause: Cause) -> None:
    def blaming(page: Verdicts) -> Verdicts:
        return page.model_copy(
            update={"clusters": tuple(item.model_copy(update={"cause": cause}) for item in page.clusters)}
        )

    fallen = worse(_score(pages, blaming).numbers(), _score(pages).numbers())
    assert any(", blame: 0, was" in line for line in fallen)
