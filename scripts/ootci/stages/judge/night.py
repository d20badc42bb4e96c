"""One device's verdict on one night, in the order of precedence, from the history up to it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ootci.history.baseline import Baseline
from ootci.history.difference import newly_failing, was_run
from ootci.history.excuses import Excuses
from ootci.history.expectations import accepted_losses, expired_ids, refused
from ootci.history.parity import class_of, classes_run
from ootci.history.states import number_with, rows_in
from ootci.history.stored import Failure, StoredRun
from ootci.model.build import NOTHING_COLLECTED, StageName, StageResult, StageStatus
from ootci.model.device import UPSTREAM
from ootci.model.outcome import Counts
from ootci.model.plan import Plan
from ootci.model.run import ReportState, Run
from ootci.model.verdict import BROKEN, VerdictName
from ootci.model.words import many

from .witnesses import Witnesses

_REPORT_LOST = (ReportState.MISSING, ReportState.EMPTY, ReportState.UNREADABLE)


@dataclass(frozen=True)
class Losses:
    """The tests that a device was expected to run and did not.

    Attributes:
        accepted: rows of those whose loss is accepted.
        lost: ids of the others, by suite.
        expected: how many tests of each of these suites were expected.

    """

    accepted: int = 0
    lost: dict[str, frozenset[str]] = field(default_factory=dict)
    expected: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan, run: StoredRun, baseline: Baseline, witnesses: Witnesses) -> Losses:
        """The tests and suites of the baseline that a run lacks."""
        accepted, lost = 0, {}
        for suite, rows in baseline.lost(run).items():
            by_itself = accepted_losses(plan, run, rows)
            if suite == UPSTREAM:
                # PyTorch renames, removes and skips its tests; only a class without any test left is reported.
                left = classes_run(run)
                by_itself |= number_with([row for row in rows_in(rows) if class_of(run.tests[row]) in left])
            others = rows & ~by_itself
            by_others = witnesses.accepted(plan, run, suite, others)
            accepted |= by_itself | by_others
            if left_out := others & ~by_others:
                lost[suite] = frozenset(run.ids(rows_in(left_out)))
        return cls(accepted, lost, expected={suite: baseline.size(run, suite) for suite in lost})

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the lost tests whose loss is not accepted."""
        return frozenset().union(*self.lost.values())


@dataclass(frozen=True)
class Judged:
    """One device's verdict on one night.

    Attributes:
        reason: one sentence that a maintainer understands.
        broke_at: the stage where it broke, if one did.
        failed: ids of the tests that failed without an excuse or were lost; where there are none, the stage that broke.

    """

    verdict: VerdictName
    reason: str
    broke_at: str | None = None
    losses: Losses = field(default_factory=Losses)
    excuses: Excuses = field(default_factory=Excuses)
    failed: frozenset[str] = frozenset()


def judge_night(
    device: str,
    plan: Plan,
    run: StoredRun | None,
    before: StoredRun | None,
    *,
    losses: Losses,
    excuses: Excuses,
    ever: bool,
) -> Judged:
    """The verdict on one night, in the order of precedence.

    Args:
        run: what was reported; None when nothing was.
        before: what it is compared with.
        ever: whether the device reported before.

    """
    paused = next((left for left in plan.left_out if left.device == device), None)
    if paused is not None:
        return Judged(VerdictName.PAUSED, paused.reason)
    if run is None and not ever:
        return Judged(VerdictName.NEVER_RAN, "has never reported")
    if run is None:
        expected = plan.expected(device)
        elsewhere = f" that is new from {expected.external}" if expected and expected.external else ""
        return Judged(VerdictName.NO_DATA, f"no report received{elsewhere}")
    failures = _Failures.of(plan, run, excuses)
    judged = _judged(plan, run, before, failures, losses)
    failed = losses.ids.union(item.id for item in failures.unknown)
    if not failed and judged.verdict in BROKEN:
        failed = frozenset((judged.broke_at or judged.verdict.value,))
    return replace(judged, losses=losses, excuses=excuses, failed=failed)


def _judged(plan: Plan, run: StoredRun, before: StoredRun | None, failures: _Failures, losses: Losses) -> Judged:
    return (
        _no_data(run.head)
        or _stage_broken(run.head)
        or _unreachable(failures)
        or _smoke_broken(plan, run, failures)
        or _regressed(before, run, failures)
        or _lost_tests(run, losses)
        or _failing(run, failures)
        or _unstable(run, failures)
        or _nothing(run)
        or _known(run, failures)
        or Judged(VerdictName.OK, f"{_ok_text(run)}{failures.note}")
    )


@dataclass(frozen=True)
class _Failures:
    """The failing tests of the required suites.

    Attributes:
        unknown: those that nobody expected, in the run's order.
        unsettled: how many of PyTorch's own tests do not pass on the device yet.
        known: ids of those that the vendor's list covers.
        flaky: those that nobody expected and that passed on retry, or are flaky by their record.
        unreachable: those that did not reach a host, for the first night.
        again: how many of the unknown were known until their entry expired.
        excused_suites: suites with failures that are excused.
        all_excused: ids of all excused failures.

    """

    unknown: tuple[Failure, ...]
    known: frozenset[str]
    flaky: tuple[Failure, ...]
    unreachable: tuple[Failure, ...]
    again: int
    unsettled: int
    excused_suites: frozenset[str]
    all_excused: frozenset[str]

    @classmethod
    def of(cls, plan: Plan, run: StoredRun, excuses: Excuses) -> _Failures:
        required = run.head.required_suites
        expired = expired_ids(plan, run)
        failing = [item for item in run.failures if item.suite in required]
        expected = excuses.known | excuses.unsettled
        others = [item for item in failing if item.id not in expected]
        # By row, because there may be hundreds of thousands of failures: no linear search for each.
        flaky = {item.row: item for item in others if item.is_flaky or item.id in excuses.flaky}
        firm = [item for item in others if item.row not in flaky]
        unknown = {item.row: item for item in firm if item.id not in excuses.unreachable}
        return cls(
            unknown=tuple(unknown.values()),
            known=frozenset(item.id for item in failing) & excuses.known,
            flaky=tuple(flaky.values()),
            unreachable=tuple(item for item in firm if item.id in excuses.unreachable),
            again=sum(item.id in expired for item in unknown.values()),
            unsettled=sum(item.id in excuses.unsettled for item in failing),
            excused_suites=frozenset(item.suite for item in failing if item.row not in unknown),
            all_excused=excuses.all,
        )

    @property
    def note(self) -> str:
        """The part of a verdict's reason about the vendor's declarations; empty without any."""
        total = len(self.unknown) + len(self.known) + len(self.flaky) + len(self.unreachable)
        known = f"; {len(self.known)} of {total} failures known" if self.known else ""
        known += f"; {many(len(self.unreachable), 'test')} could not reach a host" if self.unreachable else ""
        known += f"; {self.again} known no longer, as the entry expired" if self.again else ""
        return known + (f"; {self.unsettled} of PyTorch's own tests not yet supported" if self.unsettled else "")


def _no_data(run: Run) -> Judged | None:
    for report in run.suites:
        if report.required and report.state is ReportState.NO_TESTS:
            stage = run.stage(report.suite)
            if stage is None or stage.status is not StageStatus.CRASHED:
                name, why = (stage.name, stage.reason) if stage else (None, None)
                text = f"{report.suite}: zero tests were collected"
                # A stage without a text of its own gets this one.
                return Judged(VerdictName.NO_DATA, text if why in (None, NOTHING_COLLECTED) else f"{text}: {why}", name)
    return None


_BROKEN_STAGES = (
    (StageName.FETCH, VerdictName.INFRA),
    (StageName.CHECK, VerdictName.INFRA),
    (StageName.BUILD, VerdictName.BUILD_BROKEN),
    (StageName.IMPORT, VerdictName.IMPORT_BROKEN),
)


def _stage_broken(run: Run) -> Judged | None:
    for name, verdict in _BROKEN_STAGES:
        for stage in run.stages:
            if stage.name == name and stage.status not in (StageStatus.PASSED, StageStatus.NOT_RUN):
                found = VerdictName.BUILD_BROKEN if stage.is_vendors else verdict
                return Judged(found, f"{name.value}: {stage.reason or stage.status.value}", name)
    return None


def _unreachable(failures: _Failures) -> Judged | None:
    """Infrastructure, where nothing else failed; on a second night in a row such failures count like any other."""
    if failures.unknown or not failures.unreachable:
        return None
    first = failures.unreachable[0]
    said = f": {first.signature.text}" if first.signature is not None else ""
    count = many(len(failures.unreachable), "test")
    return Judged(VerdictName.INFRA, f"{count} could not reach a host, first {first.id}{said}", first.suite)


def _smoke_broken(plan: Plan, run: StoredRun, failures: _Failures) -> Judged | None:
    if "smoke" not in run.head.required_suites:
        return None
    of_smoke = [item for item in failures.unknown if item.suite == "smoke"]
    if of_smoke:
        text = f"{many(len(of_smoke), 'test')} of smoke failed, first {of_smoke[0].id}{failures.note}"
        return Judged(VerdictName.SMOKE_BROKEN, text, StageName.SMOKE)
    if _none_passed(run, "smoke"):
        return Judged(VerdictName.SMOKE_BROKEN, f"no test of smoke passed{failures.note}", StageName.SMOKE)
    if missing := refused(plan, run, "smoke"):
        text = f"{many(len(missing), 'test')} of smoke unsupported, first {missing[0]}"
        return Judged(VerdictName.SMOKE_BROKEN, text, StageName.SMOKE)
    stage = run.head.stage("smoke")
    broken = stage is not None and stage.status not in (StageStatus.PASSED, StageStatus.NOT_RUN)
    if stage is not None and broken and not _reported(run, "smoke"):
        return Judged(VerdictName.SMOKE_BROKEN, f"smoke: {stage.reason or stage.status.value}", StageName.SMOKE)
    return None


def _reported(run: StoredRun, suite: str) -> bool:
    """Whether at least one test of the suite has another outcome than ``not_run``."""
    counts = run.counts((suite,))
    return counts.total > counts.not_run


def _regressed(before: StoredRun | None, run: StoredRun, failures: _Failures) -> Judged | None:
    new = newly_failing(before, run, failures.all_excused)
    if before is None or not any(was_run(before, item.suite) for item in new):
        return None
    stage = _first_failing_stage(run.head, failures)
    text = f"{many(len(new), 'test')} started failing{failures.note}"
    return Judged(VerdictName.REGRESSED, text, stage)


def _none_passed(run: StoredRun, suite: str) -> bool:
    """Whether tests of a suite were executed and none passed; known failures do not excuse that."""
    counts = run.counts((suite,))
    return bool(counts.executed) and not counts.passed and not counts.flaky


def _lost_tests(run: StoredRun, losses: Losses) -> Judged | None:
    for report in run.head.suites:
        if not report.required:
            continue
        found = run.head.stage(report.suite)
        stage = found.name if found else None
        if report.state in _REPORT_LOST or report.state is ReportState.TRUNCATED:
            return Judged(VerdictName.LOST_TESTS, f"{report.suite}: {report.detail}", stage)
        if report.counts.total < report.min_tests:
            text = f"{report.suite}: {report.counts.total} tests collected, at least {report.min_tests} expected"
            return Judged(VerdictName.LOST_TESTS, text, stage)
        if report.state is ReportState.COMPLETE and report.counts.executed == 0:
            text = f"{report.suite}: none of {many(report.counts.total, 'test')} was executed"
            return Judged(VerdictName.LOST_TESTS, text, stage)
        if lost := losses.lost.get(report.suite):
            text = f"{report.suite}: {len(lost)} of {many(losses.expected[report.suite], 'test')} no longer run"
            return Judged(VerdictName.LOST_TESTS, f"{text}, first {min(lost)}", stage)
    return None


def _failing(run: StoredRun, failures: _Failures) -> Judged | None:
    if failures.unknown:
        text = f"{many(len(failures.unknown), 'test')} failing, first {failures.unknown[0].id}{failures.note}"
        return Judged(VerdictName.FAILING, text, _first_failing_stage(run.head, failures))
    for stage in _failing_stages(run.head, failures):
        return Judged(VerdictName.FAILING, f"{stage.name}: {stage.reason or stage.status.value}", stage.name)
    for suite in sorted(run.head.required_suites):
        if _none_passed(run, suite):
            return Judged(VerdictName.FAILING, f"no test of {suite} passed{failures.note}", suite)
    return None


def _unstable(run: StoredRun, failures: _Failures) -> Judged | None:
    if not failures.flaky:
        return None
    first = failures.flaky[0]
    again = sum(item.is_flaky for item in failures.flaky)
    parts = [f"{many(again, 'test')} failed, then passed on retry"] if again else []
    by_record = len(failures.flaky) - again
    flaky = many(by_record, "test failed twice and is", "tests failed twice and are")
    parts += [f"{flaky} flaky"] if by_record else []
    text = f"{', '.join(parts)}, first {first.id}{failures.note}"
    stage = run.head.stage(first.suite)
    return Judged(VerdictName.UNSTABLE, text, stage.name if stage else None)


def _known(run: StoredRun, failures: _Failures) -> Judged | None:
    if not failures.known:
        return None
    return Judged(VerdictName.KNOWN, f"{_ok_text(run)}{failures.note}")


def _nothing(run: StoredRun) -> Judged | None:
    """Silence is never success: a night without an executed test of a required suite is NO_DATA."""
    if required_counts(run).executed:
        return None
    return Judged(VerdictName.NO_DATA, "no test of a required suite was executed")


def _failing_stages(run: Run, failures: _Failures) -> list[StageResult]:
    """Failed stages of required suites, except those with known or flaky failures only."""
    excused = failures.excused_suites - {item.suite for item in failures.unknown}
    return [
        stage
        for stage in run.stages
        if stage.name in run.required_suites
        and stage.status is not StageStatus.PASSED
        and not (stage.status is StageStatus.FAILED and stage.only_tests and stage.name in excused)
    ]


def _first_failing_stage(run: Run, failures: _Failures) -> str | None:
    return next((stage.name for stage in _failing_stages(run, failures)), None)


def _ok_text(run: StoredRun) -> str:
    counts = required_counts(run)
    failures = f", {many(counts.xfailed, 'expected failure')}" if counts.xfailed else ""
    unsupported = f", {counts.unsupported} unsupported" if counts.unsupported else ""
    return f"{counts.pass_rate} tests passed{failures}{unsupported}"


def required_counts(run: StoredRun | None) -> Counts:
    """Tests of the required suites by outcome; none when there is no run."""
    return run.counts(run.head.required_suites) if run is not None else Counts()
