"""Failures on a device's newest nights, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ootci.model.cluster import Mark, Signature
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.plan import Plan

from .clusters import NAMED, unnamed
from .first_failures import broken_stages, outcome_of_stage
from .nights import DeviceNight
from .stored import StoredRun

KEPT = 90
"""Failures of so many of the newest nightlies have a page."""
NAMES = 1_000
"""The most names of one device, the last seen; a device with new failures every night has any number."""

STAGES, FAILED, NOWHERE = "stages", "failures", ""
"""Where a text is."""


@dataclass(frozen=True)
class NamedFailure:
    """One name's nights on one device.

    Attributes:
        nights: the bit of each of the newest nightlies with this error; that of the oldest is the lowest.
        tests: how many tests and stages had this error on the last of them.
        first: the first of them in alphabetical order.
        where: the section of the run's page that has the text, of a failure as expected none.

    """

    signature: Signature
    nights: int
    tests: int
    first: tuple[str, ...]
    where: str


class Border(NamedTuple):
    """A night with an error, and the nearest one on which the same tests passed; None where none is known."""

    failed: Mark
    passed: Mark | None


class Borders(NamedTuple):
    """Where an error began and where it ended on a device."""

    began: Border
    ended: Border


@dataclass(frozen=True)
class NamedFailures:
    """Every name of one device, or as many as are looked at if it ``is_cut``.

    Attributes:
        found: by the name's id.
        reported: the bit of each of the newest nightlies that the device reported on.
        cut: the bit of each of them on which it had names that are left out.
        borders: by the name's id.
        newest: the ids of all its names on the newest nightly, also of those that are left out.

    """

    found: Mapping[str, NamedFailure]
    reported: int
    cut: int
    borders: Mapping[str, Borders] = field(default_factory=dict)
    newest: frozenset[str] = frozenset()

    @property
    def is_cut(self) -> bool:
        """Whether names are left out."""
        return self.cut > 0

    def is_unbroken(self, name: str) -> bool:
        """Whether the device reported the error on every night from the first to the last on which it reported."""
        nights = self.found[name].nights
        span = (1 << nights.bit_length()) - (nights & -nights)
        return self.reported & span == nights


def named_failures(plans: Sequence[Plan], counting: Callable[[str], StoredRun | None]) -> NamedFailures:
    """Failures on the newest of all nightlies, oldest first; ``counting`` gives the attempt that counts of each."""
    found: dict[str, NamedFailure] = {}
    reported, cut, newest = 0, 0, frozenset[str]()
    for number, plan in reversed(tuple(enumerate(plans[-KEPT:]))):
        run = counting(plan.id)
        if run is None:
            continue
        night = 1 << number
        reported |= night
        tonight: dict[str, list[tuple[str, Signature, str]]] = {}
        for item in names_of(run):
            tonight.setdefault(item[1].id, []).append(item)
        newest = frozenset(tonight) if plan is plans[-1] else newest
        for name, items in sorted(tonight.items()):
            if (known := found.get(name)) is not None:
                found[name] = replace(known, nights=known.nights | night)
            elif len(found) < NAMES:
                tests, signatures, places = zip(*items, strict=True)
                first = tuple(sorted(tests)[:NAMED])
                found[name] = NamedFailure(signatures[-1], night, len(items), first, max(places))
            else:
                cut |= night
    nights = [DeviceNight(plan, counting(plan.id)) for plan in plans[-KEPT:]]
    borders = {name: _borders(failure, nights) for name, failure in found.items()}
    return NamedFailures(found, reported, cut, borders, newest)


def _borders(failure: NamedFailure, nights: Sequence[DeviceNight]) -> Borders:
    first, last = (failure.nights & -failure.nights).bit_length() - 1, failure.nights.bit_length() - 1
    earlier = (night for night in reversed(nights[:first]) if _is_comparable(night, nights[first]))
    later = (night for night in nights[last + 1 :] if _is_comparable(nights[last], night))
    return Borders(
        began=Border(nights[first].mark, _passed(failure.first, earlier)),
        ended=Border(nights[last].mark, _passed(failure.first, later)),
    )


def _is_comparable(earlier: DeviceNight, later: DeviceNight) -> bool:
    return later.run is not None and earlier.compares_with(later.run)


def _passed(tests: Sequence[str], nights: Iterable[DeviceNight]) -> Mark | None:
    """The first of the nights on which all tests and stages passed."""
    for night in nights:
        if night.run is not None and all(_outcome(night.run, test) is OutcomeName.PASSED for test in tests):
            return night.mark
    return None


def _outcome(run: StoredRun, name: str) -> OutcomeName | None:
    """The outcome of a test or stage; the name of a stage is none of a test."""
    return outcome_of_stage(run.head.stage(name)) or run.result(name)[0]


def names_of(run: StoredRun) -> Iterator[tuple[str, Signature, str]]:
    """Everything that failed in a run, as the judge names it: the test or stage, the name, where its text is."""
    for stage, signature in broken_stages(run):
        yield stage, signature or unnamed(stage), STAGES
    for row in run.with_outcomes(FAILURES):
        test_id = run.tests[row].id
        yield test_id, run.signatures.get(row) or unnamed(test_id), FAILED
    for row in run.with_outcomes((OutcomeName.XFAILED,)):
        if row in run.signatures:
            yield run.tests[row].id, run.signatures[row], NOWHERE
