"""A run as its page shows it: stages, counts, failures with their text, and what did not count."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ootci.history.claims import known_ids, review_known, review_unsupported
from ootci.history.stored import StoredRun
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import CapabilityCounts, OperatorCount, ReportState, Run
from ootci.model.verdict import Change, ClaimReview, KnownFailureReview

from .facts import Fact, TorchView, run_facts, torch_view
from .failures import FailureRow, failures
from .links import web_address
from .pages.findings import Finding, findings
from .status import OUTCOMES, Status, rank, works
from .text import one_line

SUITES_LIMIT = 20
CAPABILITIES_LIMIT = 60
NAMED = 100
"""Tests of one outcome that are named; the others are counted."""


@dataclass(frozen=True)
class CountRow:
    """Tests of a suite or of a capability."""

    name: str
    counts: Counts
    status: Status
    note: str | None = None


@dataclass(frozen=True)
class CapabilityRow:
    """The tests of a capability.

    Attributes:
        name: id of the capability.
        status: what they say together.
        passed: how many passed.
        asked: how many apply: all but those that say why they do not.
        others: those that did not pass, by outcome, as text.

    """

    name: str
    status: Status
    passed: int
    asked: int
    others: str

    @property
    def share(self) -> int:
        """Percent of them that passed, rounded down."""
        return 100 * self.passed // self.asked if self.asked else 0


@dataclass(frozen=True)
class TestList:
    """Tests that are only named."""

    status: Status
    total: int
    shown: tuple[Outcome, ...]
    about: str | None = None

    @property
    def more(self) -> int:
        """Tests that are not named."""
        return self.total - len(self.shown)


@dataclass(frozen=True)
class OperatorsView:
    """The operators that a run used: which ran on the device, and which it left to the CPU.

    Attributes:
        used: operators that were used.
        native: those of them that always ran on the device.
        fallbacks: the first of those that did not, the most frequent first.
        more: how many of them are not named.

    """

    used: int
    native: int
    fallbacks: tuple[OperatorCount, ...]
    more: int


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
    suites: tuple[CountRow, ...]
    capabilities: tuple[CapabilityRow, ...]
    capabilities_more: int
    findings: tuple[Finding, ...]
    failures_total: int
    failures_known: int
    unsettled: int
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
    changes: Sequence[Change] = (),
    unsettled: Collection[str] = (),
) -> RunView:
    """Everything that the page of a run shows.

    Args:
        run: the run; tests that passed may be left out of it, because none is named.
        stored: the same as the history keeps it, with all of them.
        plan: the nightly that it belongs to, with what the vendor said beforehand.
        changes: how its tests differ from the run before, as the judge found; without them no failure is called new.
        unsettled: failing tests that are not held against the device: they are counted and not listed.

    """
    if unsettled:
        kept = tuple(item for item in run.outcomes if item.id not in unsettled)
        run = run.model_copy(update={"outcomes": kept})
    known = known_ids(plan, stored)
    capabilities = capability_rows(run.capabilities)
    entries = sorted(review_known(plan, run.device, stored), key=lambda item: rank(item.state))
    claims = sorted(review_unsupported(plan, run.device, stored), key=lambda item: rank(item.state))
    expected = known | {claim.capability.value for claim in claims}
    changed = {change.id: change.change for change in changes}
    others, rows = failures(run, changed, known)
    return RunView(
        run=run,
        reported=any(stored.states),
        url=web_address(run.url),
        torch=torch_view(run.torch_request, run.torch),
        facts=run_facts(run),
        suites=_suites(run),
        capabilities=capabilities[:CAPABILITIES_LIMIT],
        capabilities_more=len(capabilities[CAPABILITIES_LIMIT:]),
        findings=findings(run, stored.counts().total, expected),
        failures_total=len(others) + sum(1 + row.alike_total for row in rows),
        failures_known=len(known),
        unsettled=len(unsettled),
        failures=rows,
        other_failures=_named(_OTHER_FAILURES, others),
        lists=_lists(run.outcomes),
        operators=operators_view(run.operators),
        known_failures=tuple(entries),
        unsupported=tuple(claims),
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


def capability_rows(capabilities: Sequence[CapabilityCounts]) -> tuple[CapabilityRow, ...]:
    """What the tests of each capability say together, by name."""
    return tuple(
        CapabilityRow(one_line(item.capability, 60), works(item), item.counts.passed, item.asked, _others(item.counts))
        for item in capabilities
        if item.capability
    )


def _others(counts: Counts) -> str:
    """The outcomes of the tests that did not pass: ``3 failed, 1 skipped``."""
    named = [(name, getattr(counts, name.value)) for name in OutcomeName if name is not OutcomeName.PASSED]
    return ", ".join(f"{count} {OUTCOMES[name].word}" for name, count in named if count)


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
    return TestList(status, len(outcomes), tuple(outcomes[:NAMED]), _OF_TORCH.get(status)) if outcomes else None


def operators_view(operators: Sequence[OperatorCount]) -> OperatorsView | None:
    """The operators of a run; None when the device does not count them."""
    if not operators:
        return None
    fell_back = sorted(
        (item for item in operators if item.fallback > 0), key=lambda item: (-item.fallback, item.operator)
    )
    native, more = len(operators) - len(fell_back), len(fell_back[NAMED:])
    return OperatorsView(len(operators), native, tuple(fell_back[:NAMED]), more)
