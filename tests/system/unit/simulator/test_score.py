"""The score: it names what a judge is wrong about, and where."""

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
Change = Callable[[Verdicts], Verdicts]


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


def _mistakes(pages: Pages, change: Change = lambda page: page) -> list[str]:
    score = Score()
    for said, hold in pages:
        hold(score, change(said))
    return score.mistakes


def _each_device(page: Verdicts, **update: object) -> Verdicts:
    return page.model_copy(update={"devices": tuple(item.model_copy(update=update) for item in page.devices)})


def _apart(page: Verdicts) -> Verdicts:
    clusters = [item.model_copy(update={"devices": (part,)}) for item in page.clusters for part in item.devices]
    return page.model_copy(update={"clusters": tuple(clusters)})


def _blaming(cause: Cause) -> Change:
    return lambda page: page.model_copy(
        update={"clusters": tuple(item.model_copy(update={"cause": cause}) for item in page.clusters)}
    )


def test_a_judge_that_is_right_makes_no_mistake(pages: Pages) -> None:
    assert _mistakes(pages) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda page: _each_device(page, verdict=VerdictName.OK), ["is OK, not REGRESSED: "]),
        (lambda page: _each_device(page, verdict=VerdictName.REGRESSED), ["is REGRESSED, not OK: "]),
        (lambda page: _each_device(page, changes=()), [": wrong tests", " began between (None, None), not nights "]),
        (
            lambda page: _each_device(page, verdict_since=page.judged_at, broken_since=page.judged_at),
            [": verdict_since ", ": broken_since "],
        ),
        (
            lambda page: page.model_copy(update={"gate": page.gate.model_copy(update={"answer": "yes"})}),
            ["the gate says yes, not no: "],
        ),
        (_apart, [": not one cluster with that range: "]),
        (_blaming(Cause.UNKNOWN), [": blames Blame.UNCLEAR, not "]),
        (_blaming(Cause.PLUGIN), [": blames Blame.PLUGIN, not ", ": plugin, falsely: "]),
    ],
    ids=["well", "broken", "no tests", "late", "gate", "apart", "nobody", "plugins"],
)
def test_a_judge_that_is_wrong_is_told_about_what(pages: Pages, change: Change, said: list[str]) -> None:
    mistakes = _mistakes(pages, change)
    assert [text for text in said if not any(text in mistake for mistake in mistakes)] == []
