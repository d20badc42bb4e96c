"""The errors of operators' results over a device's last nights, and the accuracy regressions among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import accumulate

from ootci.model.accuracy import Accuracy, ulp
from ootci.model.device import BadRange
from ootci.model.plan import Plan
from ootci.model.record import Record
from ootci.model.torch_build import Channel

from .details import Accuracies
from .flakiness import tells
from .operators import operator_of
from .reader import HistoryReader
from .stored import StoredRun

NIGHTS = 14
"""Nights with errors that are compared, the newest included."""
SAMPLE = 3
"""An error is compared with those of at least so many nights."""
FACTOR = 4
"""An accuracy regression is a largest error of so many times the largest of all nights before."""
LEAST = 4
"""Smaller errors, in units in the last place, never count as regressions."""

Errors = Mapping[tuple[str, str], Accuracy]
"""By operator and dtype."""


@dataclass(frozen=True)
class AccuracyNight:
    """The errors that a run measured."""

    plan: Plan
    run: StoredRun
    errors: Errors


class AccuracyRegression(Record):
    """A device's largest error that grew on an unchanged test, while the CPU's own did not."""

    since: date
    """The first night with the larger error, in UTC."""
    plan_id: str
    """That nightly."""
    before: float
    """The device's largest error of all nights before it that are compared."""


def accuracy_nights(
    history: HistoryReader, nights: Iterable[tuple[Plan, StoredRun]], ranges: Sequence[BadRange]
) -> tuple[AccuracyNight, ...]:
    """The last nights on which a device's errors were measured, oldest first.

    The newest is always there. It is compared with no other in the device's ``bad_ranges``, of another channel, with
    another version of the suite, or on another torch than the requested one, and with none where it is such a night
    itself.

    Args:
        nights: each nightly's run that counts, newest first.

    Raises:
        HistoryCorrupt: a run's details cannot be read back.

    """
    found: list[AccuracyNight] = []
    for plan, run in nights:
        is_compared = tells(ranges, plan, run)
        if found and not (is_compared and _kind(run) == _kind(found[0].run)):
            continue
        details = history.details(run, Accuracies)
        if details is None:
            continue
        rows = run.places.rows
        named = ((operator_of(run.tests[rows[place]].id), item) for place, item in details.tests.items())
        found.append(AccuracyNight(plan, run, {name: item for name, item in named if name is not None}))
        if len(found) == NIGHTS or not is_compared:
            break
    return tuple(reversed(found))


def accuracy_regressions(nights: Sequence[AccuracyNight]) -> dict[tuple[str, str], AccuracyRegression]:
    """The accuracy regressions of the newest night, by operator and dtype.

    Args:
        nights: oldest first; a regression began within them.

    """
    found: dict[tuple[str, str], AccuracyRegression] = {}
    for name, now in nights[-1].errors.items() if nights else ():
        told = [(night.plan, night.errors[name]) for night in nights if name in night.errors]
        same = [(plan, item) for plan, item in told if _is_comparable(item, now)]
        sizes = [ulp(item.device_largest) for _, item in same]
        before = list(accumulate(sizes, max))
        after = list(accumulate(reversed(sizes), min))[::-1]
        for at in range(SAMPLE, len(same)):
            if after[at] >= max(LEAST, FACTOR * before[at - 1]) and before[at - 1] < after[at]:
                plan = same[at][0]
                found[name] = AccuracyRegression(since=plan.created_at.date(), plan_id=plan.id, before=before[at - 1])
                break
    return found


def _kind(run: StoredRun) -> tuple[Channel | None, str | None]:
    """What two nights must share: the channel, and the version of ootci, which brings the suite's tests and samples."""
    return run.head.channel, run.head.environment.ootci


def _is_comparable(earlier: Accuracy, now: Accuracy) -> bool:
    """Whether a test is unchanged, as far as its results tell: as many, and the CPU's error is of the same size.

    The CPU's errors change with its instruction set, with PyTorch's own kernels and with the samples, which are in part
    PyTorch's.
    """
    sizes = [max(1.0, ulp(item.cpu_largest)) for item in (earlier, now)]
    return earlier.results == now.results and (sizes[0] == sizes[1] or max(sizes) < FACTOR * min(sizes))
