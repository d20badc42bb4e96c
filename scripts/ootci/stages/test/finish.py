"""The result of a stage, before it is written to the event log."""

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
"""Patterns of error lines in a log, the most reliable first; Python's own report of a signal names no cause."""


@dataclass(frozen=True)
class Finish:
    """The result of a stage without its times."""

    status: StageStatus
    reason: str | None = None
    excerpt: str | None = None
    log: str | None = None
    only_tests: bool = False
    facts: Mapping[str, str] = field(default_factory=dict)


PASSED = Finish(StageStatus.PASSED)


def status_of(done: Finished) -> StageStatus:
    """The stage's status after a process that did not succeed."""
    if done.timed_out:
        return StageStatus.TIMED_OUT
    return StageStatus.CRASHED if done.exit_code < 0 else StageStatus.FAILED


def excerpt_of(done: Finished) -> str:
    """The end of a process's output."""
    return cut(plain(done.tail))


def telling_line(done: Finished) -> str:
    """The first line of a process's output that names an error, else the last line."""
    lines = [line.strip()[:500] for line in plain(done.tail).splitlines() if line.strip()]
    named = (line for sign in _ERRORS for line in lines if sign.search(line))
    return next(named, lines[-1] if lines else "nothing was printed")


def first_error(done: Finished) -> str:
    """The first line in which pytest reports a usage or collection error, else the most telling line."""
    lines = (line.strip() for line in plain(done.tail).splitlines())
    return next((line[:500] for line in lines if line.startswith("ERROR: ")), telling_line(done))


def cut(text: str) -> str:
    """The end of a text, and how much of it is missing."""
    missing = len(text) - EXCERPT_CHARACTERS
    return text if missing <= 0 else f"[{missing} characters cut]\n{text[-EXCERPT_CHARACTERS:]}"
