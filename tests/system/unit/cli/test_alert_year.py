"""``ootci alert`` after each night of the simulated year: its issues against those that there have to be."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_github import REPOSITORY, TOKEN, FakeGithub, fake_github
from simulator import World
from simulator.event import Blame
from simulator.issues import Issues, Key
from simulator.memory import Memory
from simulator.page import Page
from simulator.truth import Truth
from unit.samples import DEVICE_YAML

from ootci.adapters import github_rest
from ootci.model.alert import Condition, Remembered
from ootci.model.record import write
from ootci.stages.alert import remembered_in

from commands import Tool  # isort: skip

SEEDS = (7, *(pytest.param(seed, marks=pytest.mark.deep) for seed in (1, 3, 5, 8, 11)))
"""In the others of the first twelve worlds two faults have one error text or one test at one time: one issue to all."""
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


def _kept(hub: FakeGithub, number: int) -> Remembered:
    kept = remembered_in(str(hub.issues[number]["body"]))
    assert kept is not None
    return kept


def _subject(world: World, kept: Remembered, page: Page) -> Key | str:
    """What an issue is about on a night: where it is about several devices the event, by its devices and tests."""
    if kept.condition is not Condition.UPSTREAM:
        return (kept.condition or Condition.BROKEN, kept.subject)
    names = set(kept.devices)
    for number in sorted({number for item in page.devices for number in item.broken_by}):
        event = world.events[number]
        shown = {world.makers[item.device].name for item in page.devices if number in item.broken_by}
        tests = {world.test_ids[test] for test in event.tests} or {event.kind.value.partition(" ")[0]}
        if event.blame is Blame.UPSTREAM and names <= shown and tests & set(kept.tests):
            return (Condition.UPSTREAM, number)
    return f"{kept.key} of {', '.join(sorted(names))}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_real_event_is_one_issue_and_one_comment(
    seed: int,
    ootci: Tool,
    hub: FakeGithub,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(github_rest, "PAUSE_SECONDS", 0.0)
    world = World(seed, nights=80)
    _registered(world, tmp_path)
    history, issues = Memory(tmp_path / "data"), Issues(world)
    subjects: dict[int, Key | str] = {}
    opened: Counter[Key | str] = Counter()
    closed: Counter[Key | str] = Counter()
    env = {**hub.environment, "GITHUB_TOKEN": TOKEN}
    for night, page in zip(world.all_nights(), Truth(world).pages(), strict=True):
        history.take(night)
        write(history.judge(night.registry, night.now), tmp_path / ".ootci" / "verdicts.json")
        ran = ootci("alert", "--apply", "--repository", REPOSITORY, "--limit", "100", cwd=tmp_path, env=env)
        assert (ran.code, ran.err) == (0, "")
        for number in (int(made or again) for made, again in OPENED.findall(ran.out)):
            subjects[number] = _subject(world, _kept(hub, number), page)
            opened[subjects[number]] += 1
        for number, subject in list(subjects.items()):
            # What one device showed first has become the issue of all that show it.
            kept = _kept(hub, number)
            if subject[0] is Condition.BROKEN and kept.condition is Condition.UPSTREAM:
                subjects[number] = _subject(world, kept, page)
                opened.update({subject: -1, subjects[number]: 1})
        closed.update(subjects[int(number)] for number in CLOSED.findall(ran.out))
        issues.add(page)
    assert sum(len(hub.comments(number)) for number in hub.issues) == closed.total()
    wanted = {key: (item.opened, item.closed) for key, item in issues.found.items() if item.opened}
    found = {key: (opened[key], closed[key]) for key in opened if opened[key]}
    wrong = [
        f"{key}: opened and closed {found.get(key, 0)} times, not {wanted.get(key, 0)}"  # type: ignore[call-overload]
        for key in sorted({*found, *wanted}, key=str)
        if found.get(key) != wanted.get(key)  # type: ignore[call-overload]
    ]
    with capsys.disabled():
        events = sum(item.opened for item in issues.found.values())
        sys.stdout.write("\n".join([f"\n{events} events, {opened.total()} times an issue was opened", *wrong, ""]))
    assert wrong == []
