"""Paths of a nightly's files on disk."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from ootci.model.device import RegisteredDevice


@dataclass(frozen=True)
class Shard:
    """One share of a run's tests; ``index`` counts from 1."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"shard {self.index} of {self.count}"


class _Below:
    """A path below a folder, with a description of its content."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: RunFolder | Workspace, _: object) -> Path:
        return folder.path / self._name


@dataclass(frozen=True)
class RunFolder:
    """The folder of one device run, in which the stages build, test and collect meet."""

    path: Path

    build = _Below("build.json")
    events = _Below("events.jsonl")
    env = _Below("env.json")
    run = _Below("run.json")
    report = _Below("report.xml")
    """JUnit of the whole run."""
    logs = _Below("logs")
    """Output of every command."""
    scratch = _Below("scratch")
    """Working directory of the suites."""
    shards = _Below("shards")
    """Folder of the shares, where the tests were run in shares."""

    def suite_report(self, suite: str) -> Path:
        """JUnit of one suite."""
        return self.path / "junit" / f"{suite}.xml"

    def empty(self) -> None:
        """Remove the files of an earlier run, which would be taken for this one's.

        Raises:
            OSError: something there cannot be removed.

        """
        if self.path.exists():
            shutil.rmtree(self.path)
        self.logs.mkdir(parents=True)

    def shard(self, shard: Shard) -> RunFolder:
        """The folder in which one share's test stage leaves its files."""
        return RunFolder(self.shards / f"{shard.index}-of-{shard.count}")

    def shards_found(self) -> tuple[Shard, ...]:
        """The shares that have a folder, in order."""
        found = (re.fullmatch(r"([1-9]\d{0,3})-of-([1-9]\d{0,3})", path.name) for path in self.shards.glob("*"))
        shards = [Shard(int(name[1]), int(name[2])) for name in found if name]
        return tuple(sorted(shards, key=lambda shard: (shard.count, shard.index)))


@dataclass(frozen=True)
class Workspace:
    """The work folder, ``.ootci`` by default; the tool may delete anything in it."""

    path: Path

    plan = _Below("plan.json")
    compat = _Below("compat.json")
    verdicts = _Below("verdicts.json")
    torch_wheels = _Below("torch")
    """Wheels of torch: those that were built or handed over, and in a folder each those that were downloaded."""
    torch_source = _Below("torch/torch.json")

    def run(self, device: str) -> RunFolder:
        """The folder of a device's run."""
        return RunFolder(self.path / "runs" / device)

    def runs(self) -> tuple[RunFolder, ...]:
        """Every run folder that is there, by device name."""
        return tuple(RunFolder(path) for path in sorted((self.path / "runs").glob("*")) if path.is_dir())

    def environment(self, device: str) -> Path:
        """The device's virtual environment."""
        return self.path / "envs" / device

    def wheels(self, device: str) -> Path:
        """Wheels of the device's plugin, a folder per distinct build."""
        return self.path / "wheels" / device

    def sources(self, device: str) -> Path:
        """Checkout of the device's plugin, where it comes from git."""
        return self.path / "sources" / device

    def plugin_sources(self, item: RegisteredDevice) -> Path:
        """The folder of a plugin's Python project; of a plugin that comes as a package it does not exist."""
        plugin = item.device.plugin
        if plugin.path is not None:
            return item.path.resolve().parent / plugin.path
        folder = self.sources(item.device.name)
        return folder / plugin.git.subdirectory if plugin.git and plugin.git.subdirectory else folder

    def upstream(self, commit: str) -> Path:
        """Checkout of PyTorch's tests of one commit."""
        return self.path / "upstream" / commit

    def building(self, device: str) -> Path:
        """Copy of the plugin's sources in which it is built."""
        return self.path / "building" / device
