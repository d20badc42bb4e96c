"""The score: it falls when a judge is wrong, and says where."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from simulator import World
from simulator.memory import Memory
from simulator.score import Score
from simulator.truth import Truth

from ootci.model.cluster import Cause
from ootci.model.verdict import VerdictName, Verdicts

Pages = list[tuple[Verdicts, Callable[[Score, Verdicts], None]]]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """The judge's pages of a month, each with a way to hold one in its place against the truth."""
    world, history = World(1, nights=30, tests=120, devices=8), Memory(tmp_path_factory.mktemp("data"))
    found: Pages = []
    for night, expected in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.take(night)
        said = history.judge(night.registry, night.now)
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
    assert score.mistakes == []
    assert (score.missed_alarms, score.false_alarms) == (0, 0)
    assert score.right == score.pages
    assert score.verdict_since == score.broken_since == score.pages.total()


def test_a_judge_that_calls_everything_well_misses_every_alarm(pages: Pages) -> None:
    score = _score(pages, lambda page: _each_device(page, verdict=VerdictName.OK))
    assert score.missed_alarms > 0
    assert score.false_alarms == 0
    assert score.right["REGRESSED"] == 0


def test_a_judge_that_calls_everything_broken_gives_false_alarms(pages: Pages) -> None:
    assert _score(pages, lambda page: _each_device(page, verdict=VerdictName.REGRESSED)).false_alarms > 0


def test_a_judge_that_names_no_tests_is_wrong_about_them(pages: Pages) -> None:
    score = _score(pages, lambda page: _each_device(page, changes=()))
    assert any(mistake.endswith("wrong tests") for mistake in score.mistakes)
    assert score.rows.right < score.rows.all


def test_a_judge_that_says_since_when_a_night_late_is_wrong(pages: Pages) -> None:
    score = _score(pages, lambda page: _each_device(page, verdict_since=page.judged_at, broken_since=page.judged_at))
    assert (score.verdict_since, score.broken_since) == (0, 0)


def test_a_judge_whose_gate_always_says_yes_is_wrong(pages: Pages) -> None:
    score = _score(pages, lambda page: page.model_copy(update={"gate": page.gate.model_copy(update={"answer": "yes"})}))
    assert score.gate.right < score.gate.all
    assert any("the gate says yes, not no" in mistake for mistake in score.mistakes)


def test_a_judge_that_groups_nothing_is_wrong_about_what_devices_share(pages: Pages) -> None:
    def apart(page: Verdicts) -> Verdicts:
        clusters = [item.model_copy(update={"devices": (part,)}) for item in page.clusters for part in item.devices]
        return page.model_copy(update={"clusters": tuple(clusters)})

    score = _score(pages, apart)
    assert score.shared.all
    assert score.shared.right == 0


@pytest.mark.parametrize("cause", [Cause.UNKNOWN, Cause.PLUGIN])
def test_a_judge_that_blames_all_alike_blames_falsely(pages: Pages, cause: Cause) -> None:
    def blaming(page: Verdicts) -> Verdicts:
        return page.model_copy(
            update={"clusters": tuple(item.model_copy(update={"cause": cause}) for item in page.clusters)}
        )

    assert any(
        f"blames Blame.{'UNCLEAR' if cause is Cause.UNKNOWN else 'PLUGIN'}" in text
        for text in _score(pages, blaming).mistakes
    )
