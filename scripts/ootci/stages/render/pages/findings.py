"""What to fix first: each thing that keeps tests of a run from passing, by how many it does."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from ootci.history.normalise import normalise
from ootci.history.signature import RAISED, signature_of
from ootci.model.capability import Capability
from ootci.model.need import PROBED, Need, need_of
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.record import Record
from ootci.model.run import Run

from ..text import one_line

LIMIT = 6
"""Errors and refusals, of each so many; the lists of tests below have everything."""
WEAK = 0.1
"""The share of its tests that do not pass, from which on a device is weak."""
_NO_KERNEL = re.compile(r"Could not run '([\w:.]+)' with arguments from the")
_CAPABILITIES = frozenset(item.value for item in Capability)


class Finding(Record):
    """One thing that is wrong or missing, and the tests that it explains."""

    text: str
    """What is missing, or what the tests say."""
    tests: int
    """How many tests it explains; 0 where only the probe before the tests found it."""
    refused: bool
    """Whether the device refuses or lacks it; else it fails."""
    first: str | None
    """One of the tests; null where it explains none."""
    capability: str | None
    """The capability whose page, `docs/capabilities/<capability>.md` in ootci's repository, explains it; null where
    there is no such page."""
    needed_for: str | None
    """One sentence: what PyTorch needs it for; null where that is not known."""
    implement: str | None
    """One sentence: where to implement it; null where that is not known."""


def findings(run: Run, tests: int, expected: Container[str]) -> tuple[Finding, ...]:
    """What the device lacks, and what explains most tests; the latter only of a weak device.

    A device with few failures needs no summary of them.

    Args:
        run: the run; tests that passed may be left out of it.
        tests: how many tests it has with them.
        expected: ids of tests that the vendor knows to fail, and names of capabilities that the device is declared not
            to have.

    """
    still_open = [
        item
        for item in run.outcomes
        if (item.is_failure or item.outcome is OutcomeName.UNSUPPORTED)
        and item.id not in expected
        and item.capability not in expected
    ]
    is_weak = len(still_open) >= WEAK * tests
    groups: dict[str, list[Outcome]] = {}
    for item in still_open:
        if is_weak or not item.is_failure:
            groups.setdefault(_key(item, run.device), []).append(item)
    lacks = [need for need in _lacks(run) if need.capability.value not in expected]
    missing = [_missing(need, groups.pop(need.name, [])) for need in lacks]
    others = sorted(map(_finding, groups.values()), key=_rank) if is_weak else []
    errors = [item for item in others if not item.refused][:LIMIT]
    refusals = [item for item in others if item.refused][:LIMIT]
    return tuple(sorted([*missing, *errors, *refusals], key=_rank))


def _rank(item: Finding) -> tuple[bool, int, str]:
    return item.refused, -item.tests, item.first or item.text


def _lacks(run: Run) -> Iterator[Need]:
    """What the device lacks, by the probe before the tests."""
    names = run.environment.device_facts.get("lacks", "").split(", ")
    return (need for name, need in PROBED.items() if name in names)


def _key(item: Outcome, device: str) -> str:
    if item.is_failure:
        test = item.id.partition("[")[0]  # cases of one test with the same error are one finding
        name = signature_of(device, item.outcome, item.message, item.text, test_id=test)
        return name.id if name else test
    need = need_of(item.message or "")
    return need.name if need is not None and need.name in PROBED else normalise(_refused(item), device)


def _refused(item: Outcome) -> str:
    """The error of an unsupported feature, without the test's part of it."""
    said = item.message or ""
    operator = _NO_KERNEL.search(said)
    return f"no kernel for {operator[1]}" if operator else said.rpartition(RAISED)[2]


def _missing(need: Need, group: list[Outcome]) -> Finding:
    return Finding(
        text=f"the device does not have: {need.name}",
        tests=len(group),
        refused=True,
        first=one_line(group[0].id) if group else None,
        capability=need.capability.value,
        needed_for=need.needed_for,
        implement=need.implement,
    )


def _finding(group: list[Outcome]) -> Finding:
    first = group[0]
    names = [item.capability for item in group if item.capability in _CAPABILITIES]
    capability = max(sorted(set(filter(None, names))), key=names.count, default=None)
    need = None if first.is_failure else need_of(first.message or "")
    text = (first.message or first.outcome.value) if first.is_failure else _refused(first)
    return Finding(
        text=one_line(text, 200) or "without a message",
        tests=len(group),
        refused=not first.is_failure,
        first=one_line(first.id),
        capability=need.capability.value if need else capability,
        needed_for=need.needed_for if need else None,
        implement=need.implement if need else None,
    )
