"""The failing tests of a run as its page shows them: each one's text, its attempts, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import filterfalse

from ootci.history.normalise import normalise
from ootci.history.signature import signature_of
from ootci.model.device import RegisteredDevice
from ootci.model.outcome import Attempt, Outcome
from ootci.model.run import Run
from ootci.model.verdict import NEW_FAILURES, ChangeName

from .commands import commands
from .status import OUTCOMES, Status

FAILURE_LIMIT = 8_000
LATER_LIMIT = 1_500
"""Of those after the first few, so that more of what happened has room than a single traceback."""
AT_LENGTH = 3
ATTEMPTS_SHOWN = 5
SHOWN = 25
"""Failures of a page with their texts; tests that failed with the same error count as one."""
ALIKE_SHOWN = 20
"""Tests with the same error that one row names."""


@dataclass(frozen=True)
class FailureRow:
    """One failing test, and those of the run that failed with the same error.

    Attributes:
        limit: so many characters of its text are shown.
        repeated: of each later attempt, whether its text is the first one's, which is not shown again.
        commands: what reproduces it, in a checkout of the repository that has the device file; none of an older run.
        alike: the first of the others.
        same_error_total: how many others there are.

    """

    outcome: Outcome
    limit: int
    change: ChangeName | None
    known: bool
    repeated: tuple[bool, ...]
    commands: tuple[str, ...]
    alike: tuple[Outcome, ...]
    same_error_total: int

    @property
    def status(self) -> Status:
        """Its outcome, or that it passed in the end."""
        status = OUTCOMES[self.outcome.outcome]
        return Status(f"flaky: {status.word}, then passed", "warn", "wave") if self.outcome.is_flaky else status


def failures(
    item: RegisteredDevice,
    run: Run,
    changes: Mapping[str, ChangeName],
    known: Container[str],
    *,
    is_recent: bool = True,
) -> tuple[list[Outcome], tuple[FailureRow, ...]]:
    """The failing tests that the page only names, and the rows of the others: new ones first, known ones last.

    Args:
        changes: how its tests differ from the run before.
        known: ids of tests that the vendor knows to fail.
        is_recent: whether tests that failed in the run before, too, have a row.

    """
    failing = [outcome for outcome in run.outcomes if outcome.is_failure]
    failing.sort(key=lambda outcome: (outcome.id in known, changes.get(outcome.id) not in NEW_FAILURES))
    groups = _alike(failing, run.device, changes, known)

    def has_row(group: Sequence[Outcome]) -> bool:
        return is_recent or changes.get(group[0].id) is not ChangeName.STILL_FAILING

    with_row = list(filter(has_row, groups))
    named = (*with_row[SHOWN:], *filterfalse(has_row, groups))
    rows = (
        FailureRow(
            outcome=outcome,
            limit=FAILURE_LIMIT if number < AT_LENGTH else LATER_LIMIT,
            change=changes.get(outcome.id),
            known=outcome.id in known,
            repeated=tuple(_is_same(outcome, attempt, run.device) for attempt in outcome.attempts[:ATTEMPTS_SHOWN]),
            commands=commands(item, run, (outcome.id,)) if is_recent else (),
            alike=tuple(others[:ALIKE_SHOWN]),
            same_error_total=len(others),
        )
        for number, (outcome, *others) in enumerate(with_row[:SHOWN])
    )
    return [outcome for group in named for outcome in group], tuple(rows)


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


def _is_same(first: Outcome, attempt: Attempt, device: str) -> bool:
    return (
        attempt.outcome is first.outcome
        and _said(attempt.message, device) == _said(first.message, device)
        and _said(attempt.text, device) == _said(first.text, device)
    )


def _said(text: str | None, device: str) -> list[str]:
    """A text without what differs from one process to the next, such as addresses."""
    return [normalise(line, device) for line in (text or "").splitlines()]
