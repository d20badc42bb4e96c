"""How a stage ended, before it is told to the event log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ootci.adapters.process import Finished
from ootci.adapters.terminal import plain
from ootci.model.build import StageStatus

EXCERPT_CHARACTERS = 4_000


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


def last_line(done: Finished) -> str:
    """The last thing that a process printed, on one line."""
    lines = [line for line in plain(done.tail).splitlines() if line.strip()]
    return lines[-1].strip()[:500] if lines else "nothing was printed"


def first_error(done: Finished) -> str:
    """The first line with which pytest says why it could not begin; the last line where it does not."""
    lines = (line.strip() for line in plain(done.tail).splitlines())
    return next((line[:500] for line in lines if line.startswith("ERROR: ")), last_line(done))


def cut(text: str) -> str:
    """The end of a text, and how much of it is missing."""
    missing = len(text) - EXCERPT_CHARACTERS
    return text if missing <= 0 else f"[{missing} characters cut]\n{text[-EXCERPT_CHARACTERS:]}"
