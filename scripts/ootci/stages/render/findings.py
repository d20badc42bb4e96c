"""What to fix first: each thing that keeps tests of a run from passing, by how many it does."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass

from ootci.history.normalise import normalise
from ootci.history.signature import RAISED, signature_of
from ootci.model.capability import Capability
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.run import Run

from .text import one_line

LIMIT = 10
"""Findings on a page; the lists of tests below have everything."""
WEAK = 0.1
"""The share of its tests that do not pass, from which on a device is weak."""
_NO_KERNEL = re.compile(r"Could not run '([\w:.]+)' with arguments from the")
_CAPABILITIES = frozenset(item.value for item in Capability)


@dataclass(frozen=True)
class Finding:
    """One thing, and the tests that it explains.

    Attributes:
        text: what they say, or the operator without a kernel.
        tests: how many there are.
        refused: whether the device refuses; else it fails.
        first: one of them.
        capability: that of most of them, whose page of the documentation says what to implement; None where there is
            no such page.

    """

    text: str
    tests: int
    refused: bool
    first: str
    capability: str | None


def findings(run: Run, expected: Container[str]) -> tuple[Finding, ...]:
    """What explains most tests first; nothing for a device that is weak nowhere, whose few failures say it themselves.

    Args:
        run: the run.
        expected: ids of tests that the vendor knows to fail, and names of capabilities that the device is declared not
            to have.

    """
    groups: dict[str, list[Outcome]] = {}
    for item in run.outcomes:
        is_open = item.is_failure or item.outcome is OutcomeName.UNSUPPORTED
        if is_open and item.id not in expected and item.capability not in expected:
            groups.setdefault(_key(item, run.device), []).append(item)
    found = sorted(groups.values(), key=lambda group: (-len(group), group[0].id))
    if sum(map(len, found)) < WEAK * len(run.outcomes):
        return ()
    return tuple(map(_finding, found[:LIMIT]))


def _key(item: Outcome, device: str) -> str:
    if item.is_failure:
        name = signature_of(device, item.outcome, item.message, item.text, test_id=item.id)
        return name.id if name else item.id
    return normalise(_refused(item), device)


def _refused(item: Outcome) -> str:
    """What a device said that it does not do, without the test that asked."""
    said = item.message or ""
    operator = _NO_KERNEL.search(said)
    return f"no kernel for {operator[1]}" if operator else said.rpartition(RAISED)[2]


def _finding(group: list[Outcome]) -> Finding:
    first = group[0]
    names = [item.capability for item in group if item.capability in _CAPABILITIES]
    text = (first.message or first.outcome.value) if first.is_failure else _refused(first)
    return Finding(
        text=one_line(text, 200) or "without a message",
        tests=len(group),
        refused=not first.is_failure,
        first=one_line(first.id),
        capability=max(sorted(set(filter(None, names))), key=names.count, default=None),
    )
