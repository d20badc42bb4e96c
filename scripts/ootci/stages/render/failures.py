"""The failing tests of a run as its page shows them: what each said, its attempts, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass

from ootci.model.outcome import Outcome
from ootci.model.run import Run
from ootci.model.verdict import NEW_FAILURES, ChangeName, KnownFailureState

from .room import Room
from .status import CHANGES, KNOWN, OUTCOMES, Status
from .text import Excerpt, excerpt, one_line

FAILURE_LIMIT = 8_000
ATTEMPT_LIMIT = 4_000
ATTEMPTS_SHOWN = 5


@dataclass(frozen=True)
class AttemptRow:
    """A later attempt of a failing test."""

    status: Status
    seconds: float
    message: str | None
    text: Excerpt | None


@dataclass(frozen=True)
class FailureRow:
    """One failing test; ``flaky`` says so where it passed in the end, ``nights`` is where its nights are shown."""

    id: str
    title: str | None
    suite: str
    status: Status
    change: Status | None
    known: Status | None
    seconds: float
    message: str | None
    text: Excerpt | None
    command: str
    flaky: Status | None
    attempts: tuple[AttemptRow, ...]
    nights: str | None

    @property
    def says_more(self) -> bool:
        """Whether it, or a later attempt, said anything that is still kept."""
        return self.text is not None or any(attempt.text is not None for attempt in self.attempts)


def failures(
    run: Run,
    changes: Mapping[str, ChangeName],
    known: Container[str],
    place: Callable[[str], str | None],
    room: Room,
) -> tuple[list[Outcome], tuple[FailureRow, ...]]:
    """All failing tests, new ones first and known ones last, and the rows of those whose text has room on the page."""
    failing = [outcome for outcome in run.outcomes if outcome.is_failure]
    failing.sort(key=lambda outcome: (outcome.id in known, changes.get(outcome.id) not in NEW_FAILURES))
    rows = []
    for outcome in failing:
        row = _failure(outcome, run.device, changes.get(outcome.id), outcome.id in known, place(outcome.id))
        texts = [row.text, *(attempt.text for attempt in row.attempts)]
        shown = [part for text in texts if text for part in (text.head, text.tail)]
        said = [attempt.message for attempt in row.attempts]
        # The id stands in the summary, in a label and in the command.
        if not room.takes(
            row.id * (3 + len(said)), row.title, row.message, row.nights, *said, *shown, overhead=740 + 400 * len(said)
        ):
            break
        rows.append(row)
    return failing, tuple(rows)


def _failure(outcome: Outcome, device: str, change: ChangeName | None, known: bool, nights: str | None) -> FailureRow:
    return FailureRow(
        id=one_line(outcome.id),
        title=one_line(outcome.title) if outcome.title else None,
        suite=one_line(outcome.suite, 60),
        status=OUTCOMES[outcome.outcome],
        change=CHANGES[change] if change else None,
        known=KNOWN[KnownFailureState.COVERS] if known else None,
        seconds=outcome.duration,
        message=one_line(outcome.message) if outcome.message else None,
        text=excerpt(outcome.text, FAILURE_LIMIT) if outcome.text else None,
        command=reproduce(outcome.id, device),
        flaky=Status(f"flaky: {OUTCOMES[outcome.outcome].word}, then passed", "warn", "wave")
        if outcome.is_flaky
        else None,
        attempts=tuple(
            AttemptRow(
                status=OUTCOMES[attempt.outcome],
                seconds=attempt.duration,
                message=one_line(attempt.message) if attempt.message else None,
                text=excerpt(attempt.text, ATTEMPT_LIMIT) if attempt.text else None,
            )
            for attempt in outcome.attempts[:ATTEMPTS_SHOWN]
        ),
        nights=nights,
    )


def reproduce(test_id: str, device: str) -> str:
    """The command that runs one test again, from the repository's top folder."""
    test = shlex.quote(one_line(test_id))
    return f"cd tests/device && python -m pytest {test} --device {shlex.quote(device)}"
