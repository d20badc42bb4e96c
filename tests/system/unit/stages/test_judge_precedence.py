"""The verdicts of a night against a second telling of what each of them means, written without looking at the judge.

Every meaning is a question about the night alone; the verdict has to be the first in the order of precedence whose
question is answered with yes. So there is always one, and never two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from unit.samples import changed, plan, retries, run, with_runs

from ootci.history.store import History
from ootci.history.stored import stored
from ootci.history.tables import TestTable
from ootci.model.device import KnownFailure
from ootci.model.outcome import Counts, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run
from ootci.model.verdict import VerdictName as V
from ootci.stages.judge.timeline import Known
from ootci.stages.judge.witnesses import Witnesses

FAILED = ("failed", "error", "crashed", "timed_out")
NEVER_ENTERED = ("skipped", "unsupported", "not_run")
SUITES = ("smoke", "integration")
Tests = dict[str, tuple[str, bool]]
"""By name: outcome, and whether a failure passed when it was run again."""


@dataclass(frozen=True)
class Night:
    """What happened on a night. A test whose name begins with `k` is known to the vendor."""

    paused: bool
    ever: bool
    reported: bool
    stages: dict[str, str]
    suites: dict[str, Tests]
    before: dict[str, Tests] | None
    cut: frozenset[str] = field(default_factory=frozenset)

    def failing(self, suite: str) -> dict[str, bool]:
        """Failing tests that nobody expected, and whether they passed when run again."""
        return {
            name: flaky
            for name, (outcome, flaky) in self.suites[suite].items()
            if outcome in FAILED and not name.startswith("k")
        }

    def for_good(self, suite: str) -> list[str]:
        """Those of them that did not."""
        return [name for name, flaky in self.failing(suite).items() if not flaky]

    def news(self) -> bool:
        """Whether one of those did not fail for good before."""
        before = self.before or {}
        return any(
            before.get(suite, {}).get(name, ("absent", False))[0] not in FAILED or before[suite][name][1]
            for suite in SUITES
            for name in self.for_good(suite)
        )

    def executed(self, suite: str) -> int:
        """Tests that were entered."""
        return sum(outcome not in NEVER_ENTERED for outcome, _ in self.suites[suite].values())

    def none_passed(self, suite: str) -> bool:
        """Whether tests were entered and none passed, not even when it was run again."""
        came = self.suites[suite].values()
        passed = any(outcome == "passed" or (outcome in FAILED and flaky) for outcome, flaky in came)
        return self.executed(suite) > 0 and not passed


def _lost(night: Night) -> bool:
    for suite in SUITES:
        had = (night.before or {}).get(suite, {})
        gone = {name for name, (outcome, _) in had.items() if outcome not in NEVER_ENTERED}
        gone -= {name for name, (outcome, _) in night.suites[suite].items() if outcome not in NEVER_ENTERED}
        if suite in night.cut or night.executed(suite) == 0 or gone:
            return True
    return False


MEANING: dict[V, Callable[[Night], bool]] = {
    V.PAUSED: lambda night: night.paused,
    V.NEVER_RAN: lambda night: not night.reported and not night.ever,
    V.NO_DATA: lambda night: not night.reported or any(not tests for tests in night.suites.values()),
    V.INFRA: lambda night: bool({"fetch", "check"} & night.stages.keys()),
    V.BUILD_BROKEN: lambda night: "build" in night.stages,
    V.IMPORT_BROKEN: lambda night: "import" in night.stages,
    V.SMOKE_BROKEN: lambda night: (
        bool(night.for_good("smoke"))
        or night.none_passed("smoke")
        or any(came[0] == "unsupported" and name[0] != "k" for name, came in night.suites["smoke"].items())
    ),
    V.REGRESSED: lambda night: bool(night.before and any(night.before.values())) and night.news(),
    V.LOST_TESTS: _lost,
    V.FAILING: lambda night: any(night.for_good(suite) or night.none_passed(suite) for suite in SUITES),
    V.UNSTABLE: lambda night: any(True in night.failing(suite).values() for suite in SUITES),
    V.KNOWN: lambda night: any(
        outcome in FAILED for tests in night.suites.values() for name, (outcome, _) in tests.items() if name[0] == "k"
    ),
    V.OK: lambda night: True,
}


_TESTS = st.dictionaries(
    st.sampled_from(["a", "b", "c", "k1"]),
    st.tuples(st.one_of(st.just("passed"), st.sampled_from([name.value for name in OutcomeName])), st.booleans()),
    max_size=4,
)
_SUITES = st.fixed_dictionaries({"smoke": _TESTS, "integration": _TESTS})
_STAGES = st.one_of(
    st.just({}),
    st.just({}),
    st.dictionaries(
        st.sampled_from(["fetch", "build", "import", "check"]),
        st.sampled_from(["failed", "crashed", "timed_out"]),
        max_size=2,
    ),
)
_RARELY = st.integers(0, 9).map(lambda number: number == 0)
_NIGHTS = st.builds(
    Night,
    paused=_RARELY,
    ever=st.booleans(),
    reported=_RARELY.map(lambda rare: not rare),
    stages=_STAGES,
    suites=_SUITES,
    before=st.one_of(st.none(), _SUITES),
    cut=st.one_of(st.just(frozenset()), st.frozensets(st.sampled_from(SUITES))),
)


def _run(number: int, suites: dict[str, Tests], stages: dict[str, str], cut: frozenset[str]) -> Run:
    made = run(
        number,
        **{suite: {name: outcome for name, (outcome, _) in tests.items()} for suite, tests in suites.items()},  # type: ignore[arg-type]
        stages=stages,
    )
    again = {
        f"{suite}/test_x.py::{name}" for suite, tests in suites.items() for name, (_, flaky) in tests.items() if flaky
    }
    made = changed(made, lambda item: item.id in again and item.is_failure, attempts=retries("passed"))
    reports = [
        report.model_copy(
            update={
                "counts": Counts.of(item for item in made.outcomes if item.suite == report.suite),
                "state": ReportState.NO_TESTS
                if not suites[report.suite]
                else ReportState.TRUNCATED
                if report.suite in cut
                else ReportState.COMPLETE,
            }
        )
        for report in made.suites
    ]
    return made.model_copy(update={"suites": tuple(reports)})


def _plan(paused: bool) -> Plan:
    made = plan(1, () if paused else ("dev",), paused={"dev": "it is away"} if paused else None)
    entries = tuple(
        KnownFailure(
            id=f"{suite}/test_x.py::k*",
            reason="known",
            issue="https://example.com/1",
            added=date(2026, 10, 1),
            expires=date(2027, 1, 1),
        )
        for suite in SUITES
    )
    return with_runs(made, known_failures=entries)


@settings(max_examples=400)
@given(_NIGHTS)
def test_the_verdict_is_the_first_in_the_order_of_precedence_that_applies(night: Night) -> None:
    table = TestTable()
    known = Known("dev")
    nobody = Witnesses((), History(Path("nowhere")), ())
    if night.before is not None:
        before = stored(_run(0, night.before, {}, frozenset()), table)
        known.add(plan(0), before, known.judge(plan(0), before, nobody, ever=False))
    found = stored(_run(1, night.suites, night.stages, night.cut), table) if night.reported else None
    judged = known.judge(_plan(night.paused), found, nobody, ever=night.ever)
    assert judged.verdict is next(verdict for verdict in V if MEANING[verdict](night))
    assert judged.reason


def test_every_verdict_has_a_meaning() -> None:
    assert list(MEANING) == list(V)
