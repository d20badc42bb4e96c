"""The failing tests of a run as its page shows them: what each said, its attempts, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace

from ootci.history.normalise import normalise
from ootci.history.signature import signature_of
from ootci.model.device.running import OURS
from ootci.model.outcome import Attempt, Outcome
from ootci.model.run import Run
from ootci.model.verdict import NEW_FAILURES, ChangeName, KnownFailureState

from .status import CHANGES, KNOWN, OUTCOMES, Status
from .text import Excerpt, excerpt, one_line

FAILURE_LIMIT = 8_000
LATER_LIMIT = 1_500
"""Of those after the first few, so that more of what happened has room than a single traceback."""
AT_LENGTH = 3
MESSAGE_LIMIT = 200
ATTEMPTS_SHOWN = 5
SHOWN = 25
"""Failures of a page with what they said; tests that failed alike count as one."""
ALIKE_SHOWN = 20
"""Tests that failed alike which a row names."""


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
        command: runs it again; None for a test of a suite that the vendor brings.
        nights: where its nights are shown.
        alike: the first of the others.
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
    command: str | None
    flaky: Status | None
    attempts: tuple[AttemptRow, ...]
    nights: str | None
    alike: tuple[AlikeTest, ...] = ()
    alike_total: int = 0


def failures(
    run: Run,
    changes: Mapping[str, ChangeName],
    known: Container[str],
    place: Callable[[str], str | None],
) -> tuple[list[Outcome], tuple[FailureRow, ...]]:
    """The failing tests that are too many for the page, and the rows of the others: new ones first, known ones last.

    Args:
        run: the run.
        changes: how its tests differ from the run before.
        known: ids of tests that the vendor knows to fail.
        place: where the nights of a test are shown.

    """
    failing = [outcome for outcome in run.outcomes if outcome.is_failure]
    failing.sort(key=lambda outcome: (outcome.id in known, changes.get(outcome.id) not in NEW_FAILURES))
    groups = _alike(failing, run.device, changes, known)
    rows = []
    for number, (outcome, *others) in enumerate(groups[:SHOWN]):
        limit = FAILURE_LIMIT if number < AT_LENGTH else LATER_LIMIT
        row = _failure(outcome, run.device, changes.get(outcome.id), outcome.id in known, place(outcome.id), limit)
        alike = tuple(_alike_test(outcome, item, place) for item in others[:ALIKE_SHOWN])
        rows.append(replace(row, alike=alike, alike_total=len(others)))
    return [item for group in groups[SHOWN:] for item in group], tuple(rows)


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


def _alike_test(first: Outcome, item: Outcome, place: Callable[[str], str | None]) -> AlikeTest:
    message = one_line(item.message, MESSAGE_LIMIT) if item.message and item.message != first.message else None
    return AlikeTest(one_line(item.id), message, place(item.id))


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


def reproduce(test_id: str, device: str) -> str | None:
    """The command that runs one test again, from the repository's top folder; None for a suite that a vendor brings."""
    if test_id.partition("/")[0] not in OURS:
        return None
    test = shlex.quote(one_line(test_id))
    return f"cd tests/device && python -m pytest {test} --device {shlex.quote(device)}"
