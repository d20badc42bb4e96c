"""The failing tests of a run as its page shows them: what each said, its attempts, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from ootci.history.normalise import normalise
from ootci.history.signature import signature_of
from ootci.model.outcome import Attempt, Outcome
from ootci.model.run import Run
from ootci.model.verdict import NEW_FAILURES, ChangeName, KnownFailureState

from .room import Room
from .status import CHANGES, KNOWN, OUTCOMES, Status
from .text import Excerpt, excerpt, one_line

FAILURE_LIMIT = 8_000
LATER_LIMIT = 1_500
"""Of those after the first few, so that more of what happened has room than a single traceback."""
AT_LENGTH = 3
MESSAGE_LIMIT = 200
ATTEMPTS_SHOWN = 5


@dataclass(frozen=True)
class AttemptRow:
    """A later attempt of a failing test; ``same``: it said what the first one did, which is not shown again."""

    status: Status
    seconds: float
    message: str | None
    text: Excerpt | None
    same: bool


@dataclass(frozen=True)
class AlikeTest:
    """A test that failed as the one of its row did; ``message`` is what it said where that differs."""

    id: str
    message: str | None
    nights: str | None


@dataclass(frozen=True)
class FailureRow:
    """One failing test, and those of the run that failed alike.

    Attributes:
        flaky: says so where it passed in the end.
        nights: where its nights are shown.
        alike: the others, as many as have room.
        alike_total: how many others there are.

    """

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
    alike: tuple[AlikeTest, ...] = ()
    alike_total: int = 0

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
    names: Room,
    *,
    together: bool = True,
) -> tuple[list[Outcome], tuple[FailureRow, ...]]:
    """The failing tests that have no room on the page, and the rows of the others: new ones first, known ones last.

    Args:
        run: the run.
        changes: how its tests differ from the run before.
        known: ids of tests that the vendor knows to fail.
        place: where the nights of a test are shown.
        room: for what the tests said.
        names: for the names of those that failed alike.
        together: whether tests that failed alike share a row: the first of them says for all what happened.

    """
    failing = [outcome for outcome in run.outcomes if outcome.is_failure]
    failing.sort(key=lambda outcome: (outcome.id in known, changes.get(outcome.id) not in NEW_FAILURES))
    rows: list[FailureRow] = []
    groups = _alike(failing, run.device, changes, known) if together else [[outcome] for outcome in failing]
    for number, (outcome, *others) in enumerate(groups):
        limit = FAILURE_LIMIT if number < AT_LENGTH else LATER_LIMIT
        row = _failure(outcome, run.device, changes.get(outcome.id), outcome.id in known, place(outcome.id), limit)
        texts = [row.text, *(attempt.text for attempt in row.attempts)]
        shown = [part for text in texts if text for part in (text.head, text.tail)]
        said = [attempt.message for attempt in row.attempts]
        # The id stands in the summary, in a label and in the command.
        if not room.takes(
            row.id * (3 + len(said)), row.title, row.message, row.nights, *said, *shown, overhead=740 + 400 * len(said)
        ):
            return [item for group in groups[number:] for item in group], tuple(rows)
        rows.append(replace(row, alike=_named(outcome, others, place, names), alike_total=len(others)))
    return [], tuple(rows)


def _alike(
    failing: Sequence[Outcome], device: str, changes: Mapping[str, ChangeName], known: Container[str]
) -> list[list[Outcome]]:
    """The tests by what their failure is called, where none that is new or known hides behind one that is not."""
    groups: dict[tuple[object, ...], list[Outcome]] = {}
    for item in failing:
        name = signature_of(device, item.outcome, item.message, item.text, test_id=item.id)
        key = (name.id if name else item.id, item.outcome, item.is_flaky, item.id in known, changes.get(item.id))
        groups.setdefault(key, []).append(item)
    return list(groups.values())


def _named(
    first: Outcome, others: Sequence[Outcome], place: Callable[[str], str | None], room: Room
) -> tuple[AlikeTest, ...]:
    named = []
    for item in others:
        message = one_line(item.message, MESSAGE_LIMIT) if item.message and item.message != first.message else None
        test = AlikeTest(one_line(item.id), message, place(item.id))
        if not room.takes(test.id, test.message, test.nights):
            break
        named.append(test)
    return tuple(named)


def _failure(
    outcome: Outcome, device: str, change: ChangeName | None, known: bool, nights: str | None, limit: int
) -> FailureRow:
    return FailureRow(
        id=one_line(outcome.id),
        title=one_line(outcome.title) if outcome.title else None,
        suite=one_line(outcome.suite, 60),
        status=OUTCOMES[outcome.outcome],
        change=CHANGES[change] if change else None,
        known=KNOWN[KnownFailureState.COVERS] if known else None,
        seconds=outcome.duration,
        message=one_line(outcome.message, MESSAGE_LIMIT) if outcome.message else None,
        text=excerpt(outcome.text, limit) if outcome.text else None,
        command=reproduce(outcome.id, device),
        flaky=Status(f"flaky: {OUTCOMES[outcome.outcome].word}, then passed", "warn", "wave")
        if outcome.is_flaky
        else None,
        attempts=tuple(_attempt(outcome, attempt, device, limit // 2) for attempt in outcome.attempts[:ATTEMPTS_SHOWN]),
        nights=nights,
    )


def _attempt(first: Outcome, attempt: Attempt, device: str, limit: int) -> AttemptRow:
    same = (
        attempt.outcome is first.outcome
        and _said(attempt.message, device) == _said(first.message, device)
        and _said(attempt.text, device) == _said(first.text, device)
    )
    return AttemptRow(
        status=OUTCOMES[attempt.outcome],
        seconds=attempt.duration,
        message=one_line(attempt.message) if attempt.message and not same else None,
        text=excerpt(attempt.text, limit) if attempt.text and not same else None,
        same=same,
    )


def _said(text: str | None, device: str) -> list[str]:
    """A text without what differs from one process to the next, such as addresses."""
    return [normalise(line, device) for line in (text or "").splitlines()]


def reproduce(test_id: str, device: str) -> str:
    """The command that runs one test again, from the repository's top folder."""
    test = shlex.quote(one_line(test_id))
    return f"cd tests/device && python -m pytest {test} --device {shlex.quote(device)}"
