"""Retries: a newly failing test is run up to twice more in a fresh process, and all attempts are kept.

One retry is not enough: of 150 tests that flake at 2 %, one fails twice on every seventeenth night. The first attempt
stays the outcome. A test that crashed is retried alone; if it passes alone, the tests before it are searched for the
one that causes the crash, and the finding is the test's third attempt.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import datetime

from ootci.adapters.progress import Progress
from ootci.model.event import TestEnd, append_event
from ootci.model.outcome import OutcomeName

from .suite_run import SuiteEnd, SuiteRun
from .supervisor import Supervisor, supervise

MAX_AGAIN = 20
"""With more new failures than this and than one in `ONE_IN` tests the device is broken, and nothing is retried; nor
with more new crashes and hangs, each of which takes a process or the time-out of a test. The next nightly retries those
that still fail, if they are no more than this then."""
ONE_IN = 200
"""Of PyTorch's own tests, dozens are new on some nights, and a few in a thousand flake."""
LAST = 3
"""The last attempt of a test; one that crashed or hung has no third."""
SEARCH = 3
"""The attempt that records the culprit of a crash."""
SEARCH_RUNS = 12
SEARCH_SECONDS = 180.0
"""Time for finding the culprits of a suite."""

_COULD_BE_CHANCE = (OutcomeName.FAILED, OutcomeName.ERROR)


@dataclass
class LaterAttempts:
    """Runs the newly failing tests of a suite again.

    Attributes:
        is_expected: whether a test failed before, or is known to fail.
        not_retried: tests that failed before for the first time and were not retried.
        deadline: monotonic time at which the suite's time is up.
        say: told what is done and why.

    """

    run: SuiteRun
    _: KW_ONLY
    is_expected: Callable[[str], bool]
    not_retried: Callable[[str], bool] = lambda _: False
    deadline: float
    clock: Callable[[], datetime]
    progress: Progress
    say: Callable[[str], None]
    _search_until: float = field(init=False, default=0.0)

    def make(self, first: SuiteEnd) -> frozenset[str]:
        """Retry new failures, and old ones that were not retried before; returns the flaky tests, which passed.

        Raises:
            ToolMissing: the device's Python cannot be started.

        """
        new = [test for test in first.failed if not self.is_expected(test)]
        if _too_many(first, new):
            self.say(f"{len(new)} tests fail that did not fail before, too many to retry any")
            return frozenset()
        if new:
            self.say(f"{len(new)} test(s) fail that did not fail before, and are retried")
        left_over = [test for test in first.failed if self.is_expected(test) and self.not_retried(test)]
        if left_over and not _too_many(first, new + left_over):
            self.say(f"{len(left_over)} test(s) fail still that were not retried before, and are retried now")
            new += left_over
        elif left_over:
            self.say(f"{len(left_over)} test(s) fail still that were not retried before, too many to retry now")
        crashed = [test for test in new if first.ended[test] is OutcomeName.CRASHED]
        left = [test for test in new if test not in crashed]
        seen: dict[str, OutcomeName] = {}
        for tests in (left, *([test] for test in crashed)):
            seen |= self._again(tests, attempt=2)
        seen |= self._again([test for test in left if seen.get(test) in _COULD_BE_CHANCE], attempt=LAST)
        flaky = {test for test in new if seen.get(test) is OutcomeName.PASSED}
        self._search_until = min(self.deadline, time.monotonic() + SEARCH_SECONDS)
        return frozenset(flaky - {test for test in crashed if test in flaky and self._has_culprit(first, test)})

    def _again(self, tests: Sequence[str], attempt: int) -> Mapping[str, OutcomeName]:
        """The outcomes of tests in a fresh process; none without tests or time."""
        if not tests or time.monotonic() >= self.deadline:
            return {}
        return self._supervise(replace(self.run, attempt=attempt), tests).ended

    def _has_culprit(self, first: SuiteEnd, test: str) -> bool:
        """Whether the test, which passed alone, crashes again after tests that ran before it."""
        before = first.before_death.get(test, ())
        found = find_culprit(before, lambda some: self._dies(some, test), SEARCH_RUNS)
        if found is None:
            self.say(f"{test} crashed, passes alone, and did not crash again after tests that had run before it")
            return False
        others = f" and {len(found) - 1} more" if len(found) > 1 else ""
        message = f"passes alone, and crashes again when {found[-1]}{others} has run before it in the same process"
        end = TestEnd(id=test, outcome=OutcomeName.CRASHED, attempt=SEARCH, message=message, text="\n".join(found))
        append_event(self.run.events, end, self.clock())
        return True

    def _dies(self, before: Sequence[str], test: str) -> bool:
        if time.monotonic() >= self._search_until:
            return False
        # These runs are no attempts of the tests in them, so they are kept out of the run's log.
        events = self.run.logs / f"{self.run.suite}.search.jsonl"
        events.unlink(missing_ok=True)
        end = self._supervise(
            replace(self.run, events=events, attempt=SEARCH), [*before, test], until=self._search_until
        )
        events.unlink(missing_ok=True)
        return OutcomeName.CRASHED in end.ended.values()

    def _supervise(self, run: SuiteRun, tests: Sequence[str], until: float | None = None) -> SuiteEnd:
        seconds = max(1.0, (until or self.deadline) - time.monotonic())
        alone = replace(run, suite_seconds=seconds, spares=0)
        return supervise([Supervisor(alone, clock=self.clock, only=tests)], self.progress)


def _too_many(first: SuiteEnd, tests: Sequence[str]) -> bool:
    slow = sum(first.ended[test] not in _COULD_BE_CHANCE for test in tests)
    return slow > MAX_AGAIN or len(tests) > max(MAX_AGAIN, len(first.collected) // ONE_IN)


GROWTH = 8
"""A delayed crash usually follows soon after its cause, so the nearest tests are tried first."""


def find_culprit(
    before: Sequence[str], dies_after: Callable[[Sequence[str]], bool], runs: int
) -> tuple[str, ...] | None:
    """Look for what has to run before a test so that it crashes.

    Args:
        before: the tests that ran before it in its process, in order.
        dies_after: runs some of them and then the test in a fresh process, and returns whether that crashes.
        runs: how many processes may be spent.

    Returns:
        The fewest tests that are known to bring the crash about, one if things are simple; None when nothing did.

    """
    size = min(1, len(before))
    harmless = 0
    while size and runs > 0:
        runs -= 1
        if dies_after(before[-size:]):
            break
        harmless, size = size, min(size * GROWTH, len(before)) if size < len(before) else 0
    else:
        return None
    proven = tuple(before[-size:])
    suspects = proven[: len(proven) - harmless]
    while len(suspects) > 1 and runs > 0:
        runs -= 1
        half = suspects[len(suspects) // 2 :]
        if dies_after(half):
            proven = half
        suspects = half if proven == half else suspects[: len(suspects) // 2]
    if proven != suspects and runs > 0 and dies_after(suspects):
        # The suspects were found by elimination; run them, because the crash may need two tests together.
        proven = suspects
    return proven
