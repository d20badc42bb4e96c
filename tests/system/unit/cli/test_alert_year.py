"""``ootci alert`` after each night of a simulated world: its issues against those that there have to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_github import REPOSITORY, TOKEN, FakeGithub, fake_github
from simulator import World
from simulator.issues import IssueScore
from simulator.memory import Memory
from simulator.truth import Truth
from unit.samples import DEVICE_YAML

from ootci.adapters import github_rest
from ootci.model.alert import Remembered
from ootci.model.record import write
from ootci.stages.alert import remembered_in

from commands import Tool  # isort: skip

OPENED = re.compile(r"^(?:#(\d+): open an issue for|reopen #(\d+),)", re.MULTILINE)
CLOSED = re.compile(r"^comment on and close #(\d+),", re.MULTILINE)


@pytest.fixture
def hub() -> Iterator[FakeGithub]:
    with fake_github() as server:
        yield server


def _registered(world: World, folder: Path) -> None:
    (folder / "devices").mkdir()
    for maker in world.makers:
        text = DEVICE_YAML.format(name=maker.name)
        (folder / "devices" / f"{maker.name}.yaml").write_text(text, encoding="utf-8")


def _kept(hub: FakeGithub) -> dict[int, Remembered]:
    found = {number: remembered_in(str(issue["body"])) for number, issue in hub.issues.items()}
    return {number: kept for number, kept in found.items() if kept is not None}


def test_a_real_event_is_one_issue_and_one_comment(
    ootci: Tool, hub: FakeGithub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(github_rest, "PAUSE_SECONDS", 0.0)
    world = World(7, nights=60)
    _registered(world, tmp_path)
    history, score = Memory(tmp_path / "data"), IssueScore(world)
    env = {**hub.environment, "GITHUB_TOKEN": TOKEN}
    for night, page in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.take(night)
        write(history.judge(night.registry, night.now), tmp_path / ".ootci" / "verdicts.json")
        ran = ootci("alert", "--apply", "--repository", REPOSITORY, "--limit", "100", cwd=tmp_path, env=env)
        assert (ran.code, ran.err) == (0, "")
        opened = [int(made or again) for made, again in OPENED.findall(ran.out)]
        score.add(page, _kept(hub), opened, [int(number) for number in CLOSED.findall(ran.out)])
    assert sum(len(hub.comments(number)) for number in hub.issues) == score.closed.total()
    assert score.mistakes == []
