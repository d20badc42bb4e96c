"""How a stage ended, before it is told to the event log."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from ootci.adapters.process import Finished
from ootci.adapters.terminal import plain
from ootci.model.build import StageStatus

EXCERPT_CHARACTERS = 4_000

_ERRORS = (
    re.compile(r"^(?!Fatal Python error).*\b(?:error|fatal)\b", re.IGNORECASE),
    re.compile(r"what\(\): |\b(?:cannot|could not|failed)\b", re.IGNORECASE),
)
"""How a log names what went wrong, the surest first; Python's own report of a signal says nothing of its cause."""


@dataclass(frozen=True)
class Finish:
    """How a stage ended: the fields of a stage's result that do not come from the clock."""

    status: StageStatus
    reason: str | None = None
    excerpt: str | None = None
    log: str | None = None
    only_tests: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)


PASSED = Finish(StageStatus.PASSED)


def status_of(done: Finished) -> StageStatus:
    """What a process that did not succeed makes of its stage."""
    if done.timed_out:
        return StageStatus.TIMED_OUT
    return StageStatus.CRASHED if done.exit_code < 0 else StageStatus.FAILED


def excerpt_of(done: Finished) -> str:
    """The end of what a process printed."""
    return cut(plain(done.tail))


def telling_line(done: Finished) -> str:
    """Of what a process printed the first line that names an error, else the last one."""
    lines = [line.strip()[:500] for line in plain(done.tail).splitlines() if line.strip()]
    named = (line for sign in _ERRORS for line in lines if sign.search(line))
    return next(named, lines[-1] if lines else "nothing was printed")


def first_error(done: Finished) -> str:
    """The first line with which pytest says why it could not begin, else the one that tells most."""
    lines = (line.strip() for line in plain(done.tail).splitlines())
    return next((line[:500] for line in lines if line.startswith("ERROR: ")), telling_line(done))


def cut(text: str) -> str:
    """The end of a text, and how much of it is missing."""
    missing = len(text) - EXCERPT_CHARACTERS
    return text if missing <= 0 else f"[{missing} characters cut]\n{text[-EXCERPT_CHARACTERS:]}"
