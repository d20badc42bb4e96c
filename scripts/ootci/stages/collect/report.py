"""JUnit XML that we hand out: report.xml of the whole run, and a report of each suite; written case by case.

What is written is what the reporters on GitHub look at: mikepenz/action-junit-report (``file`` of a case, ``message``),
EnricoMi/publish-unit-test-result-action (the sums of a suite, ``file``) and dorny/test-reporter (``name``,
``classname`` and ``time`` of every suite and case). What only we know is a property, which they pass over.

A tree of elements for each test, as a library would build it, took most of the time and memory of ``ootci collect``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from ootci.model.build import StageStatus
from ootci.model.excerpt import allowed, excerpt
from ootci.model.outcome import FAILURES, Outcome, OutcomeName, Way
from ootci.model.record import open_atomic
from ootci.model.run import ReportState, Run, SuiteReport
from ootci.model.workspace import RunFolder

MAX_TEXTS = 16 * 1024 * 1024
"""Characters of all failures' texts together; once they are used up, the remaining texts are shortened."""
SHORT_TEXT = 400
STAGES = "stages"
"""The test suite in which a reader finds what went wrong besides tests."""
_SAID = (ReportState.COMPLETE, ReportState.NOT_EXPECTED)


def write_reports(run: Run, folder: RunFolder, outputs: Mapping[str, str]) -> None:
    """Write report.xml, and of each suite that was to report a report that also holds what the tests printed."""
    write_run_report(run, folder.report)
    trouble = {case.name: case for case in _reports(run)}
    for suite in run.suites:
        cases: list[Outcome | OtherCase] = [item for item in run.outcomes if item.suite == suite.suite]
        cases += [case for name, case in trouble.items() if name == _report_of(suite)]
        target = folder.suite_report(suite.suite)
        if suite.state is ReportState.NOT_EXPECTED:
            target.unlink(missing_ok=True)
        else:
            write_report(target, {suite.suite: cases}, outputs)


def write_run_report(run: Run, target: Path) -> None:
    """Write every outcome of a run, including tests that never reported.

    A stage that did not pass, other than by failing tests, and a suite whose report is incomplete are errors of their
    own: a reader that counts failures must not take a run without tests for a good one.
    """
    suites: dict[str, list[Outcome | OtherCase]] = {}
    room = MAX_TEXTS
    for outcome in run.outcomes:
        room -= len(outcome.text or "")
        suites.setdefault(outcome.suite, []).append(
            outcome if room >= 0 else outcome.model_copy(update={"text": excerpt(outcome.text, SHORT_TEXT)})
        )
    if trouble := [*_stages(run), *_reports(run)]:
        suites = {STAGES: [*suites.pop(STAGES, []), *trouble], **suites}
    write_report(target, suites)


def _stages(run: Run) -> Iterator[OtherCase]:
    for stage in run.stages:
        if stage.status is StageStatus.PASSED or (stage.status is StageStatus.FAILED and stage.only_tests):
            continue
        was_run = stage.status is not StageStatus.NOT_RUN
        outcome, text = (OutcomeName.ERROR, stage.excerpt) if was_run else (OutcomeName.SKIPPED, None)
        status = stage.status.value
        yield OtherCase(stage.name, stage.duration, outcome, stage.reason or status, status, text)


def _reports(run: Run) -> Iterator[OtherCase]:
    for suite in run.suites:
        if suite.state not in _SAID:
            state = suite.state.value
            yield OtherCase(_report_of(suite), 0.0, OutcomeName.ERROR, suite.detail or state, state)


def _report_of(suite: SuiteReport) -> str:
    return f"report of {suite.suite}"


SUITES_FOLDER = "tests/device"
"""Where the suites are in this repository, whose files a reporter can link."""
FAILURE, ERROR, SKIPPED = "failure", "error", "skipped"
"""Elements that say that a test did not pass."""
_NOT_PLAIN = re.compile('[\x00-\x1f&<>"\ud800-\udfff\ufffe\uffff]')
"""Characters that an XML reader does not return as they were written."""
_OUTCOME, _DURATION = attrgetter("outcome"), attrgetter("duration")
_IN_ATTRIBUTES = str.maketrans({'"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#09;"})


@dataclass(frozen=True, slots=True)
class OtherCase:
    """What went wrong besides tests, as a test case.

    Attributes:
        outcome: what readers take it for; not that it passed.
        kind: the result's type.

    """

    name: str
    duration: float
    outcome: OutcomeName
    message: str
    kind: str
    text: str | None = None


def write_report(
    target: Path, suites: Mapping[str, Sequence[Outcome | OtherCase]], outputs: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Write one report: a test suite for each, by name, with its sums.

    The exact outcome, a test's id, capability and title, and how its work was done are properties of its test case;
    failure, error and skipped elements follow pytest's usage, so that any JUnit reader understands the report. A test
    without an outcome is an error of the type ``not_run``. A test that was retried has its first outcome,
    whatever came later: readers have no element for "failed, and then passed" that they do not take for a pass. Its
    attempts are a property. The outputs are what tests printed, by id.
    """
    shown: dict[str, list[Outcome | OtherCase]] = {}
    for name, cases in suites.items():
        # Names that differ in what no XML may hold only are one.
        shown.setdefault(_attribute(name), []).extend(cases)
    outcomes = {name: Counter(map(_OUTCOME, cases)) for name, cases in shown.items()}
    times = {name: round(sum(map(_DURATION, cases)), 3) for name, cases in shown.items()}
    with open_atomic(target) as stream:
        stream.write(
            f'<testsuites name="ootci" {_sums(sum(outcomes.values(), Counter()), sum(times.values()))}>'.encode()
        )
        for name, cases in shown.items():
            stream.write(f'<testsuite name="{name}" {_sums(outcomes[name], times[name])}>'.encode())
            stream.writelines(
                (_other(case) if isinstance(case, OtherCase) else _test(case, outputs.get(case.id))).encode()
                for case in cases
            )
            stream.write(b"</testsuite>")
        stream.write(b"</testsuites>")


def _sums(outcomes: Counter[OutcomeName], time: float) -> str:
    """The attributes of a suite, or of the report."""
    found = Counter[str | None]()
    for outcome, number in outcomes.items():
        found[_RESULTS[outcome]] += number
    kinds = f'errors="{found[ERROR]}" failures="{found[FAILURE]}" skipped="{found[SKIPPED]}"'
    return f'tests="{found.total()}" {kinds} time="{round(time, 3)}"'


_NAMES = {name: name.value for name in OutcomeName}
_RESULTS = {
    name: None
    if name is OutcomeName.PASSED
    else FAILURE
    if name in (OutcomeName.FAILED, OutcomeName.XPASSED)
    else ERROR
    if name in FAILURES or name is OutcomeName.NOT_RUN
    else SKIPPED
    for name in OutcomeName
}


def _test(item: Outcome, output: str | None) -> str:
    """The element ``testcase`` of a test."""
    outcome = _NAMES[item.outcome]
    result = _RESULTS[item.outcome]
    # What is escaped is taken apart as it was before: no character that counts there is escaped, or part of that.
    test_id = _attribute(item.id)
    path, _, name = test_id.partition("::")
    more = _more(item.capability, item.title, item.ran)
    if item.attempts:
        more += _property("attempts", ", ".join([outcome, *(_NAMES[later.outcome] for later in item.attempts)]))
    shown = _result(result, item.message or outcome, outcome, item.text) if result else ""
    if output:
        shown += f"<system-out>{_content(output)}</system-out>"
    return (
        f'<testcase name="{name or path or "unnamed"}" {_place(path)} time="{item.duration}"><properties>'
        f'<property name="id" value="{test_id}" /><property name="outcome" value="{outcome}" />{more}'
        f"</properties>{shown}</testcase>"
    )


# Tests that follow each other are of one file, prove the same and differ in their parameters.
@lru_cache(maxsize=64)
def _place(path: str) -> str:
    """The attributes that say where tests are; the path is escaped."""
    classname = path.removesuffix(".py").replace("/", ".") or "unnamed"
    return f'classname="{classname}"' + (f' file="{SUITES_FOLDER}/{path}"' if path.endswith(".py") else "")


@lru_cache(maxsize=64)
def _more(capability: str | None, title: str | None, ran: Way | None) -> str:
    """The properties that not every test has."""
    said = (("capability", capability), ("title", title), ("ran", ran.value if ran else None))
    return "".join([_property(name, value) for name, value in said if value is not None])


def _property(name: str, value: str) -> str:
    return f'<property name="{name}" value="{_attribute(value)}" />'


def _other(case: OtherCase) -> str:
    """The element ``testcase`` of what is no test."""
    head = f'name="{_attribute(case.name)}" classname="{STAGES}" time="{case.duration}"'
    result = _result(_RESULTS[case.outcome] or ERROR, case.message, case.kind, case.text)
    return f"<testcase {head}>{result}</testcase>"


def _result(tag: str, message: str, kind: str, text: str | None) -> str:
    head = f'<{tag} message="{_attribute(message)}" type="{kind}"'
    return f"{head}>{_content(text)}</{tag}>" if text else f"{head} />"


def _attribute(text: str) -> str:
    return text if _NOT_PLAIN.search(text) is None else _content(text).translate(_IN_ATTRIBUTES)


def _content(text: str) -> str:
    return escape(allowed(text), quote=False)
