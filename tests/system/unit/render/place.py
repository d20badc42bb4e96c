"""A history and the site that is made of it night by night, held against one that is made anew each time."""

from __future__ import annotations

import shutil
from copy import copy
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from simulator.world import START, Night, World

from ootci.history.store import History
from ootci.model.device import RegisteredDevice
from ootci.model.run import Run
from ootci.stages.judge import judge
from ootci.stages.render import render
from ootci.stages.render.publish import Published

DEVICES, TESTS = 3, 120
Registry = tuple[RegisteredDevice, ...]
P = TypeVar("P", bound="Place")


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Place:
    """A history and the site that is made of it night by night."""

    def __init__(self, folder: Path, start: datetime = START) -> None:
        self.folder = folder
        self.world = World(7, nights=60, tests=TESTS, start=start)
        self.names = [maker.name for maker in self.world.makers[:DEVICES]]
        self.night = self.world.night(0)
        self.site = folder / "site"

    def copied(self: P, folder: Path) -> P:
        """The same once more in another folder."""
        made = copy(self)
        made.folder, made.site = folder, folder / "site"
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return made

    @property
    def history(self) -> History:
        return History(self.folder / "history")

    def append(self, number: int) -> Night:
        night = self.world.night(number)
        runs = tuple(run for run in night.plan.runs if run.device in self.names)
        self.night = replace(
            night,
            registry=tuple(item for item in night.registry if item.device.name in self.names),
            plan=night.plan.model_copy(update={"runs": runs}),
            arrivals=self.arrivals(number, tuple(run for run in night.arrivals if run.device in self.names)),
        )
        history = self.history
        with history.together():
            history.append_plan(self.night.plan)
            for run in self.night.arrivals:
                history.append_run(run)
        return self.night

    def arrivals(self, number: int, runs: tuple[Run, ...]) -> tuple[Run, ...]:
        """The runs of a night as they are reported."""
        return runs

    def render(self, registry: Registry | None = None, address: str | None = None) -> Published:
        """Render over the site of before, and hold it against one that is made anew."""
        registry = registry or self.night.registry
        verdicts = judge(registry, self.history, self.night.now)
        done = render(registry, self.history, verdicts, self.site, address)
        anew = self.folder / "anew"
        assert render(registry, self.history, verdicts, anew, address, anew=True).taken_over == 0
        assert tree(self.site) == tree(anew)
        return done
