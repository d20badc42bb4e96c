"""The steps in which the reference plugin is built, as devices/openreg/steps.cmake lists them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """One step.

    Attributes:
        title: what it adds.
        capabilities: those whose tests pass from here on.
        files: the files that it adds, relative to the plugin's folder.

    """

    title: str
    capabilities: tuple[str, ...]
    files: tuple[str, ...]


CALL = re.compile(r'^openreg_step\("(?P<title>[^"]+)"(?P<arguments>[^)]*)\)$', re.MULTILINE)


def read_steps(plugin: Path) -> tuple[Step, ...]:
    """The steps, in order."""
    text = (plugin / "steps.cmake").read_text(encoding="utf-8")
    steps = []
    for call in CALL.finditer(text):
        capabilities, _, files = call["arguments"].partition("FILES")
        steps.append(Step(call["title"], tuple(capabilities.split()[1:]), tuple(files.split())))
    assert len(steps) == text.count("\nopenreg_step("), "a step that this does not understand"
    return tuple(steps)
