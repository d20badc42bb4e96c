"""How a suite ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.model.event import CollectedTest
from ootci.model.outcome import FAILURES, OutcomeName


@dataclass(frozen=True)
class SuiteEnd:
    """How a suite ended, or one worker's share of it.

    Attributes:
        collected: its tests by id, in order.
        ended: their outcomes, by id.
        orderly: whether pytest itself reported its end.
        reason: one line, when it did not run to its end in an orderly way.
        timed_out: whether the suite's own time was up.
        tail: the end of the last process's output.
        log: name of the log of that process.
        before_death: of each test during which the process died, the tests that the process had run before it.

    """

    collected: Mapping[str, CollectedTest]
    ended: Mapping[str, OutcomeName]
    orderly: bool
    reason: str | None
    timed_out: bool
    tail: str
    log: str
    before_death: Mapping[str, tuple[str, ...]]

    @property
    def failed(self) -> tuple[str, ...]:
        """Tests that say that the device did something wrong, in order."""
        return tuple(test for test, outcome in self.ended.items() if outcome in FAILURES)


def joined(ends: Sequence[SuiteEnd]) -> SuiteEnd:
    """How a suite ended that several workers ran in shares; the first share that failed gives the reason."""
    worst = next((end for end in ends if end.timed_out), next((end for end in ends if end.reason is not None), ends[0]))
    return SuiteEnd(
        collected={test: item for end in ends for test, item in end.collected.items()},
        ended={test: outcome for end in ends for test, outcome in end.ended.items()},
        orderly=worst.orderly,
        reason=worst.reason,
        timed_out=worst.timed_out,
        tail=worst.tail,
        log=worst.log,
        before_death={test: before for end in ends for test, before in end.before_death.items()},
    )
