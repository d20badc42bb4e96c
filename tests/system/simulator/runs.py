"""run.json as the tool would have written it on a night like that."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from ootci.model.build import StageName, StageResult, StageStatus
from ootci.model.outcome import FAILURES, Attempt, Counts, Outcome, OutcomeName
from ootci.model.run import CapabilityCounts, ReportState, Run, SuiteReport, trivial_tests

from .builds import Builds
from .catalogue import Case
from .condition import ABSENT, BREAKS, NAMES, Condition
from .event import Event
from .fleet import Maker
from .surroundings import environment, links, operators, way
from .texts import Words

SUITES = ("smoke", "integration", "ops")
STAGES = tuple(StageName(name) for name in ("fetch", "build", "import", "check", *SUITES))
SECONDS = (35.0, 160.0, 4.5, 2.0, 11.0, 95.0, 240.0)
"""How long each stage takes, about."""
VARIETY = 3
"""So many different nights there are, as far as seconds of tests go."""
MANY = 20
"""More new failures of a night than this are not run again."""
EXPECTED = "torch {torch} is at fault, not the device: {device} is not among the devices that it asks. Seen: {error}"
REFUSED = (
    "3 of 3 samples are refused, first sample 1: {operator}(Tensor[5, 5]): the cpu computes it, the device raised "
    "NotImplementedError: Could not run 'aten::{kernel}' with arguments from the 'PrivateUse1' backend."
)
URL = "https://github.com/example/pytorch-integration-tests/actions/runs/{number}"


@dataclass(frozen=True)
class _Suite:
    """What a suite reported: the code of each of its tests, the outcomes by the test's number, and their counts."""

    codes: bytes
    outcomes: dict[int, Outcome]
    counts: dict[str, int]


class Reporter:
    """Writes what a device reports.

    Args:
        seed: of the world.
        start: when the first night was planned.
        makers: the devices.
        cases: every test that there ever is.
        builds: which PyTorch and plugin there were.

    """

    def __init__(
        self, seed: int, start: datetime, makers: Sequence[Maker], cases: Sequence[Case], builds: Builds
    ) -> None:
        self._seed = seed
        self._start = start
        self._makers = makers
        self._cases = cases
        self._builds = builds
        self._order = {
            suite: tuple(index for index, case in enumerate(cases) if case.suite == suite) for suite in SUITES
        }
        self._usual: dict[tuple[int, int, int], Outcome] = {}
        self._suites: dict[tuple[str, int, int], _Suite] = {}
        self._counted: dict[int, tuple[bytes, frozenset[int], tuple[CapabilityCounts, ...]]] = {}

    def runs(self, condition: Condition, plan_id: str, min_tests: dict[str, int]) -> Iterator[Run]:
        """Every attempt that a device reported on a night, in order."""
        if condition.arrives is None:
            return
        attempt = 1
        if condition.retry is not None:
            yield self._run(condition, plan_id, min_tests, 1, condition.retry)
            attempt = 2
        yield self._run(condition, plan_id, min_tests, attempt, condition.stop)

    def _run(
        self, condition: Condition, plan_id: str, min_tests: dict[str, int], attempt: int, stop: Event | None
    ) -> Run:
        device, night = condition.device, condition.night
        maker = self._makers[device]
        random = Random(f"{self._seed}/run/{device}/{night}/{attempt}")  # noqa: S311 - nothing secret
        begin = self._start + timedelta(days=night, minutes=4 + 45 * (attempt - 1), seconds=random.randrange(300))
        torch = self._builds.torch(device, night)
        stopped = BREAKS.get(stop.kind, StageName.CHECK) if stop else None
        suites = {} if stop else {suite: self._suite(suite, condition) for suite in SUITES}
        stages = self._stages(condition, stop, stopped, suites, begin, random)
        ended = max(item.started_at + timedelta(seconds=item.duration) for item in stages if item.started_at)
        plugin = None if stopped in (StageName.FETCH, StageName.BUILD) else self._builds.plugin(device, night)
        return Run(
            id=f"{plan_id}-{maker.name}",
            plan_id=plan_id,
            device=maker.name,
            attempt=attempt,
            queued_at=self._start + timedelta(days=night) if attempt == 1 else None,
            started_at=begin,
            finished_at=ended,
            torch_request=self._builds.request(device, night),
            torch=None if stopped == StageName.FETCH else torch,
            plugin=plugin,
            environment=environment(maker, night, counted=stop is None),
            stages=tuple(stages),
            suites=tuple(_report(suite, suites.get(suite), stopped, min_tests[suite]) for suite in SUITES),
            capabilities=self._capabilities(condition) if suites else (),
            outcomes=tuple(item for suite in suites.values() for item in suite.outcomes.values()),
            operators=operators(maker, sum(len(suite.outcomes) for suite in suites.values())),
            url=URL.format(number=20_000_000_000 + 1000 * night + 10 * device + attempt),
            links=links(plugin, stages),
        )

    def _capabilities(self, condition: Condition) -> tuple[CapabilityCounts, ...]:
        codes, flaky = condition.codes, condition.flaky
        usual = self._counted.get(condition.device)
        if usual is None or usual[:2] != (codes, flaky):
            counts: dict[str, Counter[str]] = {}
            trivial: Counter[str] = Counter()
            for test, code in enumerate(codes):
                if code != ABSENT:
                    found = counts.setdefault(self._cases[test].capability, Counter())
                    found[NAMES[code].value] += 1
                    found["flaky"] += test in flaky
                    is_trivial = NAMES[code] is OutcomeName.PASSED and self._cases[test].id in trivial_tests()
                    trivial[self._cases[test].capability] += is_trivial
            rows = [
                CapabilityCounts(capability=name, counts=Counts(**counts[name]), trivial=trivial[name])
                for name in sorted(counts)
            ]
            usual = self._counted[condition.device] = (codes, flaky, tuple(rows))
        return usual[2]

    def _suite(self, name: str, condition: Condition) -> _Suite:
        tests = self._order[name]
        codes = bytes(condition.codes[test] for test in tests)
        key = (name, condition.device, condition.night % VARIETY)
        usual = self._suites.get(key)
        if usual is None or usual.codes != codes:
            # Most nights are like the one before, so that only what fails has to be written anew.
            there = [(test, code) for test, code in zip(tests, codes, strict=True) if code != ABSENT]
            outcomes = {test: self._calm(condition, test, code) for test, code in there}
            counts = {outcome.value: codes.count(code) for code, outcome in enumerate(NAMES)}
            usual = self._suites[key] = _Suite(codes, outcomes, counts)
        if not any(test in condition.causes for test in usual.outcomes):
            return usual
        outcomes = dict(usual.outcomes)
        words: dict[int, Words] = {}
        for test in sorted(condition.causes.keys() & outcomes.keys()):
            event, outcome = condition.causes[test], NAMES[condition.codes[test]]
            if outcome in FAILURES:
                words.setdefault(event.number, self._words(event, condition))
                outcomes[test] = self._failure(condition, test, outcome, words[event.number], event)
        flaky = sum(test in condition.flaky for test in outcomes)
        return _Suite(codes, outcomes, {**usual.counts, "flaky": flaky})

    def _words(self, event: Event, condition: Condition) -> Words:
        maker = self._makers[condition.device]
        capability = self._cases[event.tests[0]].capability if event.tests else None
        return Words(self._seed, event, capability, maker.name, maker.cards, condition.night)

    def _failure(self, condition: Condition, test: int, name: OutcomeName, words: Words, event: Event) -> Outcome:
        case = self._cases[test]
        message, text = words.of_test(case, name)
        seconds = 120.0 if name is OutcomeName.TIMED_OUT else 0.02 + test % 13 / 20
        attempts: tuple[Attempt, ...] = ()
        if test in condition.flaky:
            attempts = (Attempt(outcome=OutcomeName.PASSED, duration=seconds),)
        elif event.first in (condition.night, 0) and len(condition.causes) <= MANY and event.known is None:
            attempts = (Attempt(outcome=name, duration=seconds, message=message, text=text),)
        return Outcome(
            id=case.id,
            suite=case.suite,
            outcome=name,
            capability=case.capability,
            title=case.title,
            duration=seconds,
            message=message,
            text=text,
            attempts=attempts,
        )

    def _calm(self, condition: Condition, test: int, code: int) -> Outcome:
        """An outcome that says nothing of the night, made once and used again on other nights."""
        name = NAMES[code]
        case, maker = self._cases[test], self._makers[condition.device]
        counted = way(maker, case.id) if name is OutcomeName.PASSED and case.suite == "ops" else None
        own = name in (OutcomeName.UNSUPPORTED, OutcomeName.XFAILED)
        variety = condition.night % VARIETY
        # A device that counts its operators says something of its own on each of the varied nights.
        numbered = -1 - variety if counted is None else len(self._makers) + condition.device * VARIETY + variety
        key = (test, code, condition.device if own else numbered)
        if key not in self._usual:
            message = {
                OutcomeName.SKIPPED: "fails on the CPU: there are no samples"
                if case.suite == "ops"
                else "Skipped: needs two cards that can reach each other",
                OutcomeName.NOT_RUN: "collected, but never reported",
                OutcomeName.UNSUPPORTED: _refusal(maker, case),
                OutcomeName.XFAILED: EXPECTED.format(
                    torch="2.14", device=maker.name, error=f"Unknown device type {maker.name}"
                ),
            }.get(name)
            ran = name in (OutcomeName.PASSED, OutcomeName.XFAILED)
            seconds = round((0.004 + test % 17 / 50) * (1 + condition.night % VARIETY / 20), 4) if ran else 0.0
            self._usual[key] = Outcome(
                id=case.id,
                suite=case.suite,
                outcome=name,
                capability=case.capability,
                title=case.title,
                duration=seconds,
                message=message,
                ran=counted,
            )
        return self._usual[key]

    def _stages(
        self,
        condition: Condition,
        stop: Event | None,
        stopped: StageName | None,
        suites: Mapping[str, _Suite],
        begin: datetime,
        random: Random,
    ) -> list[StageResult]:
        stages: list[StageResult] = []
        at = begin
        over = False
        why = f"{stopped.value if stopped else 'a stage'} did not pass"
        for name, usual in zip(STAGES, SECONDS, strict=True):
            if over:
                stages.append(
                    StageResult(
                        name=name,
                        status=StageStatus.NOT_RUN,
                        reason=why,
                    )
                )
                continue
            seconds = round(usual * (0.8 + random.random() * 0.4), 2)
            status, reason, excerpt = StageStatus.PASSED, None, None
            if name is stopped and stop is not None:
                words = self._words(stop, condition)
                reason, excerpt = words.of_stage(self._builds.torch(condition.device, condition.night).version)
                status, over = StageStatus.FAILED, True
            elif name.value in SUITES:
                status, reason = _status(
                    suites[name.value], cut=name.value == "integration" and condition.cut is not None
                )
            stages.append(
                StageResult(
                    name=name,
                    status=status,
                    started_at=at,
                    duration=seconds,
                    reason=reason,
                    excerpt=excerpt,
                    log=f"{name.value}.log",
                    only_tests=reason is not None and reason.endswith("tests failed"),
                )
            )
            at += timedelta(seconds=seconds)
        return stages


def _refusal(maker: Maker, case: Case) -> str:
    """Why a test is unsupported: the vendor says so of its capability, or there is no kernel."""
    declared = next((why for which, why in maker.unsupported if which.value == case.capability), None)
    operator = case.id.partition("[")[2].partition("-")[0]
    return declared or REFUSED.format(operator=operator, kernel=operator.replace(".", "_"))


def _status(suite: _Suite, *, cut: bool) -> tuple[StageStatus, str | None]:
    if cut:
        return StageStatus.TIMED_OUT, "the suite's 45 minutes were up"
    if not suite.outcomes:
        return StageStatus.FAILED, "no tests were collected"
    failed = sum(suite.counts[name.value] for name in FAILURES)
    if failed:
        return StageStatus.FAILED, f"{failed} of {len(suite.outcomes)} tests failed"
    return StageStatus.PASSED, None


def _report(name: str, suite: _Suite | None, stopped: StageName | None, min_tests: int) -> SuiteReport:
    state, detail = ReportState.COMPLETE, None
    if suite is None:
        state, detail = ReportState.NOT_EXPECTED, f"{stopped.value if stopped else 'a stage'} did not pass"
    elif not suite.outcomes:
        state, detail = ReportState.NO_TESTS, "no tests were collected"
    elif missing := suite.counts["not_run"]:
        state, detail = ReportState.TRUNCATED, f"{missing} of {len(suite.outcomes)} collected tests never reported"
    counts = Counts(**suite.counts) if suite else Counts()
    return SuiteReport(suite=name, required=True, min_tests=min_tests, state=state, detail=detail, counts=counts)
