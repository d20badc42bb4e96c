"""A run as its page shows it: stages, counts, failures with their text, and what did not count."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import escape

from ootci.model.outcome import Counts, Outcome, OutcomeName
from ootci.model.run import ReportState, Run
from ootci.model.verdict import Change, ChangeName
from ootci.stages.render.facts import Fact, TorchView, run_facts, torch_view
from ootci.stages.render.links import web_address
from ootci.stages.render.status import CHANGES, OUTCOMES, STAGES, Status
from ootci.stages.render.text import Excerpt, excerpt, one_line

LOG_LIMIT = 6_000
FAILURE_LIMIT = 8_000
TEXT_BUDGET = 90_000
"""Bytes of escaped failure text on one page; what comes later is listed without its text."""
NAMES_LIMIT = 200
"""Tests that a list names; it says how many more there are."""


@dataclass(frozen=True)
class StageRow:
    """One stage of the run."""

    name: str
    status: Status
    seconds: float | None
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
class FailureRow:
    """One failing test."""

    anchor: str
    id: str
    title: str | None
    suite: str
    status: Status
    change: Status | None
    seconds: float
    message: str | None
    text: Excerpt | None
    command: str


@dataclass(frozen=True)
class NamedTest:
    """A test in a list."""

    id: str
    note: str | None


@dataclass(frozen=True)
class TestList:
    """Tests that came to one outcome other than passed or failed."""

    status: Status
    total: int
    shown: tuple[NamedTest, ...]

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
    failures: tuple[FailureRow, ...]
    failures_more: int
    lists: tuple[TestList, ...]


def run_view(run: Run, changes: Sequence[Change] = ()) -> RunView:
    """Everything that the page of a run shows.

    Args:
        run: the run.
        changes: how its tests differ from the run before, as the judge found; without them no failure is called new.

    """
    failed = _failures(run, {change.id: change.change for change in changes})
    return RunView(
        run=run,
        url=web_address(run.url),
        torch=torch_view(run.torch_request, run.torch),
        facts=run_facts(run),
        stages=_stages(run),
        suites=_suites(run),
        capabilities=_capabilities(run.outcomes),
        failures=failed[:NAMES_LIMIT],
        failures_more=max(0, len(failed) - NAMES_LIMIT),
        lists=_lists(run.outcomes),
    )


def _stages(run: Run) -> tuple[StageRow, ...]:
    return tuple(
        StageRow(
            name=stage.name.value,
            status=STAGES[stage.status],
            seconds=stage.duration if stage.started_at is not None else None,
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


def _capabilities(outcomes: Sequence[Outcome]) -> tuple[CountRow, ...]:
    by_name: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.capability:
            by_name.setdefault(outcome.capability, []).append(outcome)
    return tuple(_capability(one_line(name, 60), Counts.of(found)) for name, found in sorted(by_name.items()))


def _capability(name: str, counts: Counts) -> CountRow:
    if counts.failures:
        status = Status(f"{counts.failures} failing", "bad", "cross")
    elif counts.executed == 0:
        status = Status("unsupported", "off", "never") if counts.unsupported else Status("not run", "warn", "silent")
    elif counts.not_run:
        status = Status(f"{counts.not_run} not run", "warn", "silent")
    else:
        status = Status("works", "good", "check")
    return CountRow(name, counts, status)


_NEW = (ChangeName.REGRESSION, ChangeName.NEW_FAILURE)


def _failures(run: Run, changes: Mapping[str, ChangeName]) -> tuple[FailureRow, ...]:
    failing = [outcome for outcome in run.outcomes if outcome.is_failure]
    failing.sort(key=lambda outcome: changes.get(outcome.id) not in _NEW)
    budget = TEXT_BUDGET
    rows = []
    for number, outcome in enumerate(failing, 1):
        text = excerpt(outcome.text, FAILURE_LIMIT) if outcome.text else None
        if text is not None:
            size = len(escape(text.head + text.tail).encode("utf-8"))
            text, budget = (text, budget - size) if size <= budget else (None, budget)
        change = changes.get(outcome.id)
        rows.append(
            FailureRow(
                anchor=f"failure-{number}",
                id=one_line(outcome.id),
                title=one_line(outcome.title) if outcome.title else None,
                suite=one_line(outcome.suite, 60),
                status=OUTCOMES[outcome.outcome],
                change=CHANGES[change] if change else None,
                seconds=outcome.duration,
                message=one_line(outcome.message) if outcome.message else None,
                text=text,
                command=reproduce(outcome.id, run.device),
            )
        )
    return tuple(rows)


def reproduce(test_id: str, device: str) -> str:
    """The command that runs one test again, from the repository's top folder."""
    test = shlex.quote(one_line(test_id))
    return f"cd tests/device && python -m pytest {test} --device {shlex.quote(device)}"


_LISTED = (
    OutcomeName.NOT_RUN,
    OutcomeName.XPASSED,
    OutcomeName.XFAILED,
    OutcomeName.UNSUPPORTED,
    OutcomeName.SKIPPED,
)


def _lists(outcomes: Sequence[Outcome]) -> tuple[TestList, ...]:
    lists = []
    for name in _LISTED:
        found = [outcome for outcome in outcomes if outcome.outcome is name]
        shown = tuple(
            NamedTest(one_line(item.id), one_line(item.message, 200) if item.message else None)
            for item in found[:NAMES_LIMIT]
        )
        if found:
            lists.append(TestList(OUTCOMES[name], len(found), shown))
    return tuple(lists)
