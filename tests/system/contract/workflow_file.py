"""Our workflow files and actions, read."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

Mapped = dict[str, Any]


@dataclass(frozen=True)
class File:
    """One file below ``.github``: a workflow, or a composite action.

    Attributes:
        path: relative to ``.github``.
        text: as it is written.
        content: as it is meant; the key ``on`` is a string here, which PyYAML takes for a boolean.

    """

    path: str
    text: str
    content: Mapped

    @classmethod
    @functools.cache  # the same good files, with a mistake in one of them, are read for every rule
    def parse(cls, path: str, text: str) -> File:
        """Parse a file."""
        content = yaml.safe_load(text)
        if True in content:
            content["on"] = content.pop(True)
        return cls(path, text, content)

    @property
    def is_workflow(self) -> bool:
        """Whether it is a workflow; else it is an action."""
        return self.path.startswith("workflows/")

    @property
    def jobs(self) -> dict[str, Mapped]:
        """Its jobs by id; none in an action."""
        return dict(self.content.get("jobs", {}))

    @property
    def steps(self) -> Iterator[Mapped]:
        """Every step of every job, or of the action."""
        for job in self.jobs.values():
            yield from job.get("steps", [])
        yield from self.content.get("runs", {}).get("steps", [])

    def trigger(self, event: str) -> Mapped | None:
        """The settings of a trigger; None when the file does not have it."""
        triggers = self.content.get("on", {})
        return (triggers[event] or {}) if event in triggers else None


Files = Mapping[str, File]
Rule = Callable[[Files], Iterator[str]]


def read_files(folder: Path) -> dict[str, File]:
    """Every workflow and action below a ``.github`` folder, and the action beside it."""
    paths = sorted([*folder.glob("workflows/**/*.y*ml"), *folder.glob("actions/*/action.y*ml")])
    names = [path.relative_to(folder).as_posix() for path in paths]
    beside = list(folder.parent.glob("action.yml"))
    paths, names = [*beside, *paths], [*(path.name for path in beside), *names]
    return {name: File.parse(name, path.read_text(encoding="utf-8")) for name, path in zip(names, paths, strict=True)}


def permissions_of(job: Mapped) -> Mapped:
    """A job's single permissions; that all are given at once is for zizmor to say."""
    found = job.get("permissions", {})
    return found if isinstance(found, dict) else {}
