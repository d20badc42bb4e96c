"""A run as its page shows it: stages, counts, failures with their text, and what did not count."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ootci.history.claims import known_ids, review_known, review_unsupported
from ootci.history.stored import StoredRun
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import CapabilityCounts, ReportState, Run
from ootci.model.verdict import Change, ClaimReview, KnownFailureReview

from .facts import Fact, TorchView, run_facts, torch_view
from .failures import FailureRow, failures
from .findings import Finding, findings
from .links import web_address
from .operators import OperatorsView, operators_view
from .status import OUTCOMES, STAGES, Status, rank, works
from .text import Excerpt, excerpt, one_line

LOG_LIMIT = 4_000
SUITES_LIMIT = 20
CAPABILITIES_LIMIT = 60
NAMED = 100
"""Tests of one outcome that are named; the others are counted."""


@dataclass(frozen=True)
class StageRow:
    """One stage of the run; ``share`` is its duration in hundredths of the longest stage's.

    ``only_tests`` says that nothing but tests failed, which say themselves what happened.
    """

    name: str
    status: Status
    seconds: float | None
    share: int
    cached: bool
    reason: str | None
    log: Excerpt | None
    only_tests: bool


@dataclass(frozen=True)
class CountRow:
    """Tests of a suite or of a capability."""

    name: str
    counts: Counts
    status: Status
    note: str | None = None


@dataclass(frozen=True)
class NamedTest:
    """A test in a list."""

    id: str
    note: str | None
    href: str | None = None


@dataclass(frozen=True)
class TestList:
    """Tests that are only named."""

    status: Status
    total: int
    shown: tuple[NamedTest, ...]
    about: str | None = None

    @property
    def more(self) -> int:
        """Tests that are not named."""
        return self.total - len(self.shown)


@dataclass(frozen=True)
class RunView:
    """A run as its page shows it.

    ``reported`` says whether any test did.
    """

    run: Run
    reported: bool
    url: str | None
    torch: TorchView
    facts: tuple[Fact, ...]
    stages: tuple[StageRow, ...]
    suites: tuple[CountRow, ...]
    capabilities: tuple[CountRow, ...]
    capabilities_more: int
    findings: tuple[Finding, ...]
    failures_total: int
    failures_known: int
    failures: tuple[FailureRow, ...]
    other_failures: TestList | None
    lists: tuple[TestList, ...]
    operators: OperatorsView | None
    known_failures: tuple[KnownFailureReview, ...]
    unsupported: tuple[ClaimReview, ...]


def run_view(
    run: Run,
    stored: StoredRun,
    plan: Plan | None,
    place: Callable[[str], str | None],
    changes: Sequence[Change] = (),
) -> RunView:
    """Everything that the page of a run shows.

    Args:
        run: the run; tests that passed may be left out of it, because none is named.
        stored: the same as the history keeps it, with all of them.
        plan: the nightly that it belongs to, with what the vendor said beforehand.
        place: where the nights of a test are shown, as an address from the top.
        changes: how its tests differ from the run before, as the judge found; without them no failure is called new.

    """
    known = known_ids(plan, stored)
    capabilities = capability_rows(run.capabilities)
    entries = sorted(review_known(plan, run.device, stored), key=lambda item: rank(item.state))
    claims = sorted(review_unsupported(plan, run.device, stored), key=lambda item: rank(item.state))
    expected = known | {claim.capability.value for claim in claims}
    changed = {change.id: change.change for change in changes}
    others, rows = failures(run, changed, known, place)
    return RunView(
        run=run,
        reported=any(stored.states),
        url=web_address(run.url),
        torch=torch_view(run.torch_request, run.torch),
        facts=run_facts(run),
        stages=_stages(run),
        suites=_suites(run),
        capabilities=capabilities[:CAPABILITIES_LIMIT],
        capabilities_more=len(capabilities[CAPABILITIES_LIMIT:]),
        findings=findings(run, expected),
        failures_total=len(others) + sum(1 + row.alike_total for row in rows),
        failures_known=len(known),
        failures=rows,
        other_failures=_named(_OTHER_FAILURES, others),
        lists=_lists(run.outcomes),
        operators=operators_view(run.operators),
        known_failures=tuple(entries),
        unsupported=tuple(claims),
    )


def _stages(run: Run) -> tuple[StageRow, ...]:
    longest = max((stage.duration for stage in run.stages), default=0.0)
    return tuple(
        StageRow(
            name=stage.name,
            status=STAGES[stage.status],
            seconds=stage.duration if stage.started_at is not None else None,
            share=round(100 * stage.duration / longest) if longest > 0 and stage.duration > 0 else 0,
            cached=stage.cached,
            reason=one_line(stage.reason) if stage.reason else None,
            log=excerpt(stage.excerpt, LOG_LIMIT) if stage.excerpt else None,
            only_tests=stage.only_tests,
        )
        for stage in run.stages
    )


REPORTS: Mapping[ReportState, Status] = {
    ReportState.COMPLETE: Status("complete", "good", "check"),
    ReportState.TRUNCATED: Status("truncated", "bad", "minus"),
    ReportState.EMPTY: Status("empty", "bad", "silent"),
    ReportState.UNREADABLE: Status("unreadable", "bad", "silent"),
    ReportState.MISSING: Status("missing", "bad", "silent"),
    ReportState.NO_TESTS: Status("no tests", "bad", "silent"),
    ReportState.NOT_EXPECTED: Status("not started", "off", "never"),
}


def _suites(run: Run) -> tuple[CountRow, ...]:
    rows = []
    for report in run.suites[:SUITES_LIMIT]:
        notes = [] if report.required else ["advisory"]
        if report.detail:
            notes.append(one_line(report.detail))
        rows.append(
            CountRow(one_line(report.suite, 60), report.counts, REPORTS[report.state], ": ".join(notes) or None)
        )
    return tuple(rows)


def capability_rows(capabilities: Sequence[CapabilityCounts]) -> tuple[CountRow, ...]:
    """What the tests of each capability say together, by name."""
    return tuple(
        CountRow(one_line(item.capability, 60), item.counts, works(item)) for item in capabilities if item.capability
    )


_ISSUE_OF_TORCH = re.compile(r"https://github\.com/pytorch/pytorch/(?:issues|pull)/[0-9]{1,9}")
_OF_TORCH: Mapping[Status, str] = {
    OUTCOMES[OutcomeName.XFAILED]: "A defect of torch itself: no plugin is to blame.",
    OUTCOMES[
        OutcomeName.XPASSED
    ]: "The defect of torch was not seen: tests/device/harness/defects.py asks for an update.",
}
_OTHER_FAILURES = Status("more failures", "bad", "cross")
_LISTED = (
    OutcomeName.NOT_RUN,
    OutcomeName.XPASSED,
    OutcomeName.XFAILED,
    OutcomeName.UNSUPPORTED,
    OutcomeName.SKIPPED,
)


def _lists(outcomes: Sequence[Outcome]) -> tuple[TestList, ...]:
    lists = [_named(OUTCOMES[name], [item for item in outcomes if item.outcome is name]) for name in _LISTED]
    return tuple(item for item in lists if item is not None)


def _named(status: Status, outcomes: Sequence[Outcome]) -> TestList | None:
    """The tests, of which the first are named; None when there are none."""
    if not outcomes:
        return None
    shown = []
    for outcome in outcomes[:NAMED]:
        message = outcome.message
        issue = _ISSUE_OF_TORCH.search(message) if message and status in _OF_TORCH else None
        note = one_line(message, 200) if message else None
        shown.append(NamedTest(one_line(outcome.id), note, issue.group() if issue else None))
    return TestList(status, len(outcomes), tuple(shown), _OF_TORCH.get(status))
