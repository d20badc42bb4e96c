"""Failing tests that do not count against a device: known, flaky, without a connection, or not yet supported."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.plan import Plan

from .expectations import known_ids
from .flakiness import LATELY, flaky
from .parity import Ledger
from .stored import Failure, StoredRun

_UNREACHABLE = re.compile(
    r"connection (?:refused|timed out)|connect ?timeout"
    r"|name or service not known|name resolution|nodename nor servname|could not resolve|getaddrinfo"
    r"|no route to host|(?:network|host) is (?:unreachable|down)"
    r"|max retries exceeded|failed to establish a new connection"
    r"|licen[cs]e (?:server|manager|checkout)|(?:cannot|could not|failed to|unable to) (?:reach|connect)",
    re.IGNORECASE,
)
"""Texts of failures to reach a host, a package index or a licence server."""


@dataclass(frozen=True)
class Excuses:
    """Ids of a night's failing tests, by what excuses them.

    Attributes:
        known: those that the vendor's list covers.
        flaky: those that failed on retry, too, and are flaky by the record of the last nights.
        unreachable: those that did not reach a host, and did on the night before.
        unsettled: those of PyTorch's own tests that do not pass on the device yet, see :mod:`.parity`.

    """

    known: frozenset[str] = frozenset()
    flaky: frozenset[str] = frozenset()
    unreachable: frozenset[str] = frozenset()
    unsettled: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """All of them."""
        return self.known | self.flaky | self.unreachable | self.unsettled


@dataclass
class Record:
    """Results of a device's tests on its newest nights that are not excluded, oldest first, of one channel."""

    nights: deque[StoredRun] = field(default_factory=lambda: deque(maxlen=LATELY - 1))
    ledger: Ledger = field(default_factory=Ledger)
    _turned: dict[int, int] = field(default_factory=dict)
    _size: int = 0

    def add(self, run: StoredRun) -> None:
        """Add the night that follows."""
        failed = self.nights[-1].failures if self.nights else ()
        for row in (*(item.row for item in run.failures if item.is_flaky), *_passing_again(failed, run)):
            self._turned[row] = self._size
        self.nights.append(run)
        self.ledger.add(run)
        self._size += 1

    def excuses(self, plan: Plan, run: StoredRun, before: StoredRun | None) -> Excuses:
        """The excuses for failing tests of the night that follows, which is compared with ``before``."""
        known = known_ids(plan, run)
        unsettled = frozenset(run.ids(self.ledger.night(run).unsettled)) - known
        others = [item for item in run.failures if not item.is_flaky and item.id not in known | unsettled]
        return Excuses(
            known=known,
            flaky=frozenset(item.id for item in others if self._is_flaky(item)),
            unreachable=frozenset(item.id for item in others if _is_unreachable(item) and not _failed(before, item.id)),
            unsettled=unsettled,
        )

    def _is_flaky(self, failing: Failure) -> bool:
        # Few tests ever turned; only those are looked at night by night.
        if self._size - self._turned.get(failing.row, -LATELY) >= LATELY:
            return False
        tonight = (OutcomeName.FAILED, False)
        rows = self.nights[-1].tests.rows_of_id(failing.id)
        return flaky([*(run.result_in(rows) for run in self.nights), tonight]) is not None


def _passing_again(failed: tuple[Failure, ...], run: StoredRun) -> Iterator[int]:
    return (item.row for item in failed if not item.is_flaky and run.outcome(item.row) not in FAILURES)


def _is_unreachable(failing: Failure) -> bool:
    return failing.signature is not None and _says_unreachable(failing.signature.text)


@lru_cache(maxsize=4096)
def _says_unreachable(text: str) -> bool:
    return _UNREACHABLE.search(text) is not None


def _failed(run: StoredRun | None, test_id: str) -> bool:
    return run is not None and run.result(test_id)[0] in FAILURES
