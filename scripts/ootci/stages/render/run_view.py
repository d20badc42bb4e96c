"""A run as its page shows it: stages, counts, failures with their text, and what did not count."""

from __future__ import annotations

import re
import shlex
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from ootci.history.claims import known_ids, review_known, review_unsupported
from ootci.history.stored import stored
from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.plan import Plan
from ootci.model.run import CapabilityCounts, ReportState, Run
from ootci.model.verdict import Change, ChangeName, KnownFailureState

from .claims import ClaimsView, claims_view
from .facts import Fact, TorchView, run_facts, torch_view
from .links import web_address
from .operators import OperatorsView, operators_view
from .room import NAMES, TEXTS, Room
from .status import CHANGES, KNOWN, OUTCOMES, STAGES, Status
from .text import Excerpt, excerpt, one_line

LOG_LIMIT = 4_000
FAILURE_LIMIT = 8_000
ATTEMPT_LIMIT = 4_000
ATTEMPTS_SHOWN = 5
CAPABILITIES_LIMIT = 60


@dataclass(frozen=True)
class StageRow:
    """One stage of the run; ``share`` is its duration in hundredths of the longest stage's."""

    name: str
    status: Status
    seconds: float | None
    share: int
    cached: bool
    reason: str | None
    log: Excerpt | None


@dataclass(frozen=True)
class CountRow:
    """Tests of a suite or of a capability."""

    name: str
    counts: Counts
    status: Status
    note: str | None = None


@dataclass(frozen=True)
class AttemptRow:
    """A later attempt of a failing test."""

    status: Status
    seconds: float
    message: str | None
    text: Excerpt | None


@dataclass(frozen=True)
class FailureRow:
    """One failing test; ``flaky`` says so where it passed in the end."""

    id: str
    title: str | None
    suite: str
    status: Status
    change: Status | None
    known: Status | None
    seconds: float
    message: str | None
    text: Excerpt | None
    command: str
    flaky: Status | None
    attempts: tuple[AttemptRow, ...]


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
    """A run as its page shows it."""

    run: Run
    url: str | None
    torch: TorchView
    facts: tuple[Fact, ...]
    stages: tuple[StageRow, ...]
    suites: tuple[CountRow, ...]
    capabilities: tuple[CountRow, ...]
    capabilities_more: int
    failures_total: int
    failures_known: int
    failures: tuple[FailureRow, ...]
    other_failures: TestList | None
    lists: tuple[TestList, ...]
    operators: OperatorsView | None
    claims: ClaimsView


def run_view(run: Run, plan: Plan | None, changes: Sequence[Change] = ()) -> RunView:
    """Everything that the page of a run shows.

    Args:
        run: the run.
        plan: the nightly that it belongs to, with what the vendor said beforehand.
        changes: how its tests differ from the run before, as the judge found; without them no failure is called new.

    """
    planned = plan.expected(run.device) if plan is not None else None
    compact = stored(run) if planned is not None and (planned.known_failures or planned.unsupported) else None
    known = known_ids(plan, compact)
    failing, rows = _failures(run, {change.id: change.change for change in changes}, known)
    capabilities = capability_rows(run.capabilities)
    return RunView(
        run=run,
        url=web_address(run.url),
        torch=torch_view(run.torch_request, run.torch),
        facts=run_facts(run),
        stages=_stages(run),
        suites=_suites(run),
        capabilities=capabilities[:CAPABILITIES_LIMIT],
        capabilities_more=max(0, len(capabilities) - CAPABILITIES_LIMIT),
        failures_total=len(failing),
        failures_known=len(known),
        failures=rows,
        other_failures=_named(_OTHER_FAILURES, failing[len(rows) :], Room(NAMES)),
        lists=_lists(run.outcomes),
        operators=operators_view(run.operators),
        claims=claims_view(review_known(plan, run.device, compact), review_unsupported(plan, run.device, compact)),
    )


def _stages(run: Run) -> tuple[StageRow, ...]:
    longest = max((stage.duration for stage in run.stages), default=0.0)
    return tuple(
        StageRow(
            name=stage.name.value,
            status=STAGES[stage.status],
            seconds=stage.duration if stage.started_at is not None else None,
            share=round(100 * stage.duration / longest) if longest > 0 and stage.duration > 0 else 0,
            cached=stage.cached,
            reason=one_line(stage.reason) if stage.reason else None,
            log=excerpt(stage.excerpt, LOG_LIMIT) if stage.excerpt else None,
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
    for report in run.suites:
        notes = [] if report.required else ["advisory"]
        if report.detail:
            notes.append(one_line(report.detail))
        rows.append(CountRow(report.suite, report.counts, REPORTS[report.state], ": ".join(notes) or None))
    return tuple(rows)


def capability_rows(capabilities: Sequence[CapabilityCounts]) -> tuple[CountRow, ...]:
    """What the tests of each capability say together, by name."""
    return tuple(_capability(one_line(item.capability, 60), item.counts) for item in capabilities if item.capability)


def _capability(name: str, counts: Counts) -> CountRow:
    if counts.failures:
        status = Status(f"{counts.failures} failing", "bad", "cross")
    elif counts.executed == 0:
        status = Status("unsupported", "off", "never") if counts.unsupported else Status("not run", "warn", "silent")
    elif counts.not_run:
        status = Status(f"{counts.not_run} not run", "warn", "silent")
    elif counts.passed < counts.executed:
        status = Status(f"{counts.executed - counts.passed} expected to fail", "good", "known")
    else:
        status = Status("works", "good", "check")
    return CountRow(name, counts, status)


_NEW = (ChangeName.REGRESSION, ChangeName.NEW_FAILURE)


def _failures(
    run: Run, changes: Mapping[str, ChangeName], known: Container[str]
) -> tuple[list[Outcome], tuple[FailureRow, ...]]:
    """All failing tests, new ones first and known ones last, and the rows of those whose text has room on the page."""
    failing = [outcome for outcome in run.outcomes if outcome.is_failure]
    failing.sort(key=lambda outcome: (outcome.id in known, changes.get(outcome.id) not in _NEW))
    room, rows = Room(TEXTS), []
    for outcome in failing:
        row = _failure(outcome, run.device, changes.get(outcome.id), outcome.id in known)
        texts = [row.text, *(attempt.text for attempt in row.attempts)]
        shown = [part for text in texts if text for part in (text.head, text.tail)]
        said = [attempt.message for attempt in row.attempts]
        # The id stands in the summary, in a label and in the command.
        if not room.takes(
            row.id * (3 + len(said)), row.title, row.message, *said, *shown, overhead=700 + 400 * len(said)
        ):
            break
        rows.append(row)
    return failing, tuple(rows)


def _failure(outcome: Outcome, device: str, change: ChangeName | None, known: bool) -> FailureRow:
    return FailureRow(
        id=one_line(outcome.id),
        title=one_line(outcome.title) if outcome.title else None,
        suite=one_line(outcome.suite, 60),
        status=OUTCOMES[outcome.outcome],
        change=CHANGES[change] if change else None,
        known=KNOWN[KnownFailureState.COVERS] if known else None,
        seconds=outcome.duration,
        message=one_line(outcome.message) if outcome.message else None,
        text=excerpt(outcome.text, FAILURE_LIMIT) if outcome.text else None,
        command=reproduce(outcome.id, device),
        flaky=Status(f"flaky: {OUTCOMES[outcome.outcome].word}, then passed", "warn", "wave")
        if outcome.is_flaky
        else None,
        attempts=tuple(
            AttemptRow(
                status=OUTCOMES[attempt.outcome],
                seconds=attempt.duration,
                message=one_line(attempt.message) if attempt.message else None,
                text=excerpt(attempt.text, ATTEMPT_LIMIT) if attempt.text else None,
            )
            for attempt in outcome.attempts[:ATTEMPTS_SHOWN]
        ),
    )


def reproduce(test_id: str, device: str) -> str:
    """The command that runs one test again, from the repository's top folder."""
    test = shlex.quote(one_line(test_id))
    return f"cd tests/device && python -m pytest {test} --device {shlex.quote(device)}"


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
    room = Room(2 * NAMES)
    lists = [_named(OUTCOMES[name], [item for item in outcomes if item.outcome is name], room) for name in _LISTED]
    return tuple(item for item in lists if item is not None)


def _named(status: Status, outcomes: Sequence[Outcome], room: Room) -> TestList | None:
    """The tests by name, as many as have room; None when there are none."""
    shown = []
    for outcome in outcomes:
        message = outcome.message
        issue = _ISSUE_OF_TORCH.search(message) if message and status in _OF_TORCH else None
        test = NamedTest(
            one_line(outcome.id), one_line(message, 200) if message else None, issue.group() if issue else None
        )
        if not room.takes(test.id, test.note, test.href):
            break
        shown.append(test)
    return TestList(status, len(outcomes), tuple(shown), _OF_TORCH.get(status)) if outcomes else None
