"""``ootci diff``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import click

from ootci.cli.options import folder_options, format_option
from ootci.cli.show import code, shortened, show, table
from ootci.errors import EXIT_DEVICE, EXIT_FINE
from ootci.flows.context import Folders
from ootci.history.difference import difference
from ootci.history.expectations import known_ids
from ootci.history.reference import find_run
from ootci.history.store import History
from ootci.history.stored import stored
from ootci.model.difference import CLASSES, Difference, RunFacts, TestDifference
from ootci.model.verdict import NEW_FAILURES, ChangeName
from ootci.model.words import many

SHOWN = 20
"""Tests of each class that are printed without --all."""
MESSAGE = 160

_FAILING = (ChangeName.REGRESSION, ChangeName.NEW_FAILURE, ChangeName.STILL_FAILING)
_ONE_SIDED = (ChangeName.DISAPPEARED, ChangeName.APPEARED)


@click.command("diff", short_help="Compare two runs, test by test.")
@click.argument("before", metavar="A")
@click.argument("after", metavar="B")
@click.option("--all", "everything", is_flag=True, help="Print every test, not the first 20 of each class.")
@format_option
@folder_options("history")
def diff(before: str, after: str, everything: bool, output_format: str, folders: Folders) -> None:
    """Compare run B with run A: two nights of one device, or two devices on one night.

    \b
    A and B are each one of
      DEVICE@latest             its newest nightly
      DEVICE@previous           the nightly before that
      DEVICE@NIGHTLY            a nightly by its id, or a unique prefix of it,
                                such as openreg@20261121
      DEVICE@NIGHTLY.ATTEMPT    a certain attempt; default: the last
      RUN-ID                    as on the dashboard: 20261121-041000-openreg
      PATH                      a run.json; contains / or ends in .json

    DEVICE is a name or a device file.

    \b
    Examples:
      ootci diff mydevice@previous mydevice@latest
      ootci diff openreg@latest mydevice@latest

    Exit code 1 if B is worse than A: in a required suite, a test newly fails and is not a known failure, or
    disappeared; a stage broke; or a report is missing or truncated. Otherwise 0.
    """
    history = History(folders.history)
    first, second = find_run(history, before), find_run(history, after)
    plan = next((plan for plan in history.plans() if plan.id == second.plan_id), None)
    found = difference(first, second, known_ids(plan, stored(second)))
    show(found, output_format, lambda markdown: _text(found, _Style(markdown, everything)))
    sys.exit(EXIT_DEVICE if found.worse else EXIT_FINE)


@dataclass(frozen=True)
class _Style:
    """The format of a difference: markdown or text, and whether every test is listed."""

    markdown: bool
    everything: bool

    def heading(self, text: str) -> str:
        return f"### {text}\n" if self.markdown else text

    def item(self, text: str, depth: int = 0) -> str:
        return f"{'  ' * depth}- {text}" if self.markdown else f"{'  ' * depth}  {text}"

    def foreign(self, text: str) -> str:
        return code(text, markdown=self.markdown)


def _text(difference: Difference, style: _Style) -> str:
    """The facts of the two runs, whether B is worse, and the tests by class of change."""
    parts = [table(("", "A", "B"), tuple(_facts(difference)), markdown=style.markdown)]
    parts += ["\n".join(lines) for lines in _verdict(difference, style) if lines]
    for change, meaning in CLASSES:
        items = [item for item in difference.tests if item.change is change]
        if items:
            name = change.value if change else "other"
            heading = f"{name}: {len(items)} of {many(difference.total, 'test')} {meaning}"
            parts.append("\n".join([style.heading(heading), *_listed(change, items, style)]))
    return "\n\n".join(parts)


_ALWAYS = {"run", "torch", "torch commit", "plugin", "plugin commit", "Python", "passed"}
"""Facts that identify the runs and are always shown; others are shown if they differ."""


def _facts(difference: Difference) -> Iterator[tuple[str, str, str]]:
    """A row per fact: its name, and its values in A and B."""
    before, after = _facts_of(difference.before), _facts_of(difference.after)
    for heading, left in before.items():
        if left != after[heading]:
            yield heading, left, after[heading]
        elif heading in _ALWAYS:
            yield heading, left, "the same"


def _facts_of(run: RunFacts) -> dict[str, str]:
    torch, plugin, environment, counts = run.torch, run.plugin, run.environment, run.counts
    version = torch.version if torch else "none"
    suites = (report.suite if report.required else f"{report.suite} (advisory)" for report in run.suites)
    return {
        "run": f"{run.device}@{run.plan_id}" + (f".{run.attempt}" if run.attempt > 1 else ""),
        "torch": f"{version} (fallback)" if run.torch_request.fallback_reason else version,
        "torch commit": (torch and torch.git_version) or "unknown",
        "plugin": f"{plugin.package} {plugin.version or 'not built'}" if plugin else "none",
        "plugin commit": (plugin and plugin.commit) or "unknown",
        "Python": environment.python or "unknown",
        "system": environment.os or "unknown",
        "compiler": environment.compiler or "unknown",
        "devices": str(environment.devices),
        "suites": ", ".join(suites),
        "passed": f"{counts.pass_rate} executed tests",
        "failed": str(counts.failures),
        "flaky": str(counts.flaky),
        "skipped": str(counts.skipped),
        "unsupported": str(counts.unsupported),
        "not run": str(counts.not_run),
    }


def _verdict(difference: Difference, style: _Style) -> Iterator[list[str]]:
    """Paragraphs: whether B is worse and why, and counts of all tests."""
    if difference.worse:
        word = "**B is worse than A:**" if style.markdown else "B is worse than A:"
        yield [word, *([""] if style.markdown else []), *(style.item(style.foreign(text)) for text in difference.worse)]
    else:
        same = difference.before.id == difference.after.id and difference.before.attempt == difference.after.attempt
        yield ["A and B are the same run." if same else "B is not worse than A."]
    notes = [f"{difference.unchanged} of {many(difference.total, 'test')} are unchanged and do not fail"]
    uncounted = sum(item.change in NEW_FAILURES and (item.known or not item.required) for item in difference.tests)
    if uncounted:
        failing = many(uncounted, "test")
        notes.append(f"not counted: {failing} newly failing in B, known failures or of an advisory suite")
    if difference.no_longer_run:
        unrun = many(difference.no_longer_run, "test")
        notes.append(f"{unrun} executed in A and not in B: skipped, unsupported or not run")
    if difference.commits:
        notes.append(f"PyTorch's commits between them: {difference.commits}")
    yield [style.item(note) for note in notes] if style.markdown else notes


def _listed(change: ChangeName | None, items: Sequence[TestDifference], style: _Style) -> Iterator[str]:
    if change in _ONE_SIDED and not style.everything:
        items, lines = _without_whole_suites(items, style)
        yield from lines
    shown = list(items if style.everything else items[:SHOWN])
    if change in _FAILING:
        yield from _by_message(shown, style)
    else:
        yield from (style.item(_test(item, style)) for item in shown)
    if len(items) > len(shown):
        yield style.item(f"and {len(items) - len(shown)} more, which --all prints")


def _without_whole_suites(
    items: Sequence[TestDifference], style: _Style
) -> tuple[Sequence[TestDifference], Sequence[str]]:
    """Long lists of one suite as one line: usually the other run did not run the suite at all."""
    of_suite = {suite: [item for item in items if item.suite == suite] for suite in {item.suite for item in items}}
    long = {suite: len(found) for suite, found in sorted(of_suite.items()) if len(found) > SHOWN}
    lines = [style.item(f"{many(count, 'test')} of the suite {style.foreign(suite)}") for suite, count in long.items()]
    return [item for item in items if item.suite not in long], lines


def _by_message(items: Sequence[TestDifference], style: _Style) -> Iterator[str]:
    """Failing tests under the first line of their failure, which many of them often share."""
    by_message: dict[str, list[TestDifference]] = {}
    for item in items:
        by_message.setdefault(shortened(item.message or "the failure left no message", MESSAGE), []).append(item)
    for message, tests in by_message.items():
        yield style.item(style.foreign(message))
        yield from (style.item(_test(item, style), 1) for item in tests)


def _test(item: TestDifference, style: _Style) -> str:
    way = f"{item.before or 'absent'} -> {item.after or 'absent'}"
    notes = [note for note, holds in (("known", item.known), ("advisory", not item.required)) if holds]
    return f"{style.foreign(item.id)}  {way}" + (f" ({', '.join(notes)})" if notes else "")
