"""Failures on a device's newest nights, by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ootci.model.cluster import Signature
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.plan import Plan

from .clusters import NAMED, unnamed
from .first_failures import broken_stages
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


@dataclass(frozen=True)
class NamedFailures:
    """Every name of one device, or as many as are looked at if it ``is_cut``.

    ``reported`` has the bit of each of the newest nightlies that the device reported on.
    """

    found: Mapping[str, NamedFailure]
    reported: int
    is_cut: bool


def named_failures(plans: Sequence[Plan], counting: Callable[[str], StoredRun | None]) -> NamedFailures:
    """Failures on the newest of all nightlies, oldest first; ``counting`` gives the attempt that counts of each."""
    found: dict[str, NamedFailure] = {}
    nights: dict[str, int] = {}
    reported, is_cut = 0, False
    for number, plan in reversed(tuple(enumerate(plans[-KEPT:]))):
        run = counting(plan.id)
        if run is None:
            continue
        reported |= 1 << number
        names = {signature.id for _, signature, _ in names_of(run)}
        fresh = names - found.keys()
        if len(found) + len(fresh) > NAMES:
            is_cut, fresh = True, set(sorted(fresh)[: NAMES - len(found)])
        found.update(_last(run, fresh))
        for name in names & found.keys():
            nights[name] = nights.get(name, 0) | 1 << number
    complete = {
        name: NamedFailure(item.signature, nights[name], item.tests, item.first, item.where)
        for name, item in found.items()
    }
    return NamedFailures(complete, reported, is_cut)


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


def _last(run: StoredRun, names: Collection[str]) -> dict[str, NamedFailure]:
    """Failures of some names, whose nights are still to be counted."""
    items: dict[str, list[tuple[str, str]]] = {}
    signatures: dict[str, Signature] = {}
    for item, signature, where in names_of(run) if names else ():
        if signature.id in names:
            signatures[signature.id] = signature
            items.setdefault(signature.id, []).append((item, where))
    return {
        name: NamedFailure(signatures[name], 0, len(pairs), _first(pairs), max(where for _, where in pairs))
        for name, pairs in items.items()
    }


def _first(pairs: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(sorted(item for item, _ in pairs)[:NAMED])
