"""The difference of two runs for people, as text or as markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ootci.cli.report import one_line, table
from ootci.model.difference import CLASSES, Difference, RunFacts, TestDifference
from ootci.model.verdict import NEW_FAILURES, ChangeName

SHOWN = 20
"""So many tests of each class are printed, unless all are asked for."""
MESSAGE = 160

_FAILING = (ChangeName.REGRESSION, ChangeName.NEW_FAILURE, ChangeName.STILL_FAILING)
_ONE_SIDED = (ChangeName.DISAPPEARED, ChangeName.APPEARED)


def difference_text(difference: Difference, *, markdown: bool, everything: bool) -> str:
    """What differs: the facts of the two runs, whether B is worse, and then the tests by class of change.

    Args:
        difference: how the two runs differ.
        markdown: markdown in place of aligned text.
        everything: every test, not the first of each class only.

    """
    style = _Style(markdown, everything)
    facts = tuple(_facts(difference.before, difference.after))
    parts = [table(("", "A", "B"), facts, "markdown" if markdown else "text")]
    parts += ["\n".join(lines) for lines in _verdict(difference, style) if lines]
    for change, meaning in CLASSES:
        items = [item for item in difference.tests if item.change is change]
        if items:
            name = change.value if change else "other"
            heading = f"{name}: {len(items)} of {_tests(difference.total)} {meaning}"
            parts.append("\n".join([style.heading(heading), *_listed(change, items, style)]))
    return "\n\n".join(parts)


@dataclass(frozen=True)
class _Style:
    markdown: bool
    everything: bool

    def heading(self, text: str) -> str:
        return f"### {text}\n" if self.markdown else text

    def item(self, text: str, depth: int = 0) -> str:
        return f"{'  ' * depth}- {text}" if self.markdown else f"{'  ' * depth}  {text}"

    def foreign(self, text: str) -> str:
        """Text of a device run on one line; in markdown as code, in which nothing of it means anything."""
        flat = one_line(text)
        return "`" + flat.replace("`", "'") + "`" if self.markdown else flat


def _facts(a: RunFacts, b: RunFacts) -> Iterator[tuple[str, str, str]]:
    """A row per fact: always what says which two runs these are, the rest where it differs."""
    for always, heading, left, right in (
        (True, "run", _run(a), _run(b)),
        (True, "torch", _torch(a), _torch(b)),
        (True, "torch commit", _commit(a), _commit(b)),
        (True, "plugin", _plugin(a), _plugin(b)),
        (
            True,
            "plugin commit",
            (a.plugin and a.plugin.commit) or "unknown",
            (b.plugin and b.plugin.commit) or "unknown",
        ),
        (True, "Python", a.environment.python or "unknown", b.environment.python or "unknown"),
        (False, "system", a.environment.os or "unknown", b.environment.os or "unknown"),
        (False, "compiler", a.environment.compiler or "unknown", b.environment.compiler or "unknown"),
        (False, "cards", str(a.environment.devices), str(b.environment.devices)),
        (False, "suites", _suites(a), _suites(b)),
        (True, "passed", _passed(a), _passed(b)),
        (False, "failed", str(a.counts.failures), str(b.counts.failures)),
        (False, "flaky", str(a.counts.flaky), str(b.counts.flaky)),
        (False, "skipped", str(a.counts.skipped), str(b.counts.skipped)),
        (False, "unsupported", str(a.counts.unsupported), str(b.counts.unsupported)),
        (False, "not run", str(a.counts.not_run), str(b.counts.not_run)),
    ):
        if left != right:
            yield heading, left, right
        elif always:
            yield heading, left, "the same"


def _run(facts: RunFacts) -> str:
    attempt = f".{facts.attempt}" if facts.attempt > 1 else ""
    return f"{facts.device}@{facts.plan_id}{attempt}"


def _torch(facts: RunFacts) -> str:
    version = facts.torch.version if facts.torch else "none"
    return f"{version} (fallback)" if facts.torch_request.fallback_reason else version


def _commit(facts: RunFacts) -> str:
    return (facts.torch.git_version if facts.torch else None) or "unknown"


def _plugin(facts: RunFacts) -> str:
    return f"{facts.plugin.package} {facts.plugin.version or 'not built'}" if facts.plugin else "none"


def _suites(facts: RunFacts) -> str:
    return ", ".join(report.suite if report.required else f"{report.suite} (advisory)" for report in facts.suites)


def _passed(facts: RunFacts) -> str:
    return f"{facts.counts.pass_rate} executed tests"


def _verdict(difference: Difference, style: _Style) -> Iterator[list[str]]:
    """Paragraphs: whether B is worse and why, and what else is to be known of all tests together."""
    if difference.worse:
        word = "**B is worse than A:**" if style.markdown else "B is worse than A:"
        yield [word, *([""] if style.markdown else []), *(style.item(style.foreign(text)) for text in difference.worse)]
    else:
        same = difference.before.id == difference.after.id and difference.before.attempt == difference.after.attempt
        yield ["A and B are the same run." if same else "B is not worse than A."]
    notes = [f"{difference.unchanged} of {_tests(difference.total)} came to the same in both, and do not fail"]
    uncounted = sum(item.change in NEW_FAILURES and (item.known or not item.required) for item in difference.tests)
    if uncounted:
        notes.append(f"not counted: {_tests(uncounted)} newly failing in B, known failures or of an advisory suite")
    if difference.no_longer_run:
        notes.append(f"{_tests(difference.no_longer_run)} executed in A and not in B: skipped, unsupported or not run")
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
    """Long lists of one suite as a line: mostly the suite was not run on the other side at all."""
    of_suite = {suite: [item for item in items if item.suite == suite] for suite in {item.suite for item in items}}
    long = {suite: len(found) for suite, found in sorted(of_suite.items()) if len(found) > SHOWN}
    lines = [style.item(f"{_tests(count)} of the suite {style.foreign(suite)}") for suite, count in long.items()]
    return [item for item in items if item.suite not in long], lines


def _by_message(items: Sequence[TestDifference], style: _Style) -> Iterator[str]:
    """Failing tests under the first line of their failure, which many of them often share."""
    by_message: dict[str, list[TestDifference]] = {}
    for item in items:
        by_message.setdefault(_cut(item.message or "the failure left no message"), []).append(item)
    for message, tests in by_message.items():
        yield style.item(style.foreign(message))
        yield from (style.item(_test(item, style), 1) for item in tests)


def _test(item: TestDifference, style: _Style) -> str:
    way = f"{item.before or 'absent'} -> {item.after or 'absent'}"
    notes = [note for note, holds in (("known", item.known), ("advisory", not item.required)) if holds]
    return f"{style.foreign(item.id)}  {way}" + (f" ({', '.join(notes)})" if notes else "")


def _cut(message: str) -> str:
    flat = one_line(message)
    return flat if len(flat) <= MESSAGE else flat[: MESSAGE - 2] + " …"


def _tests(count: int) -> str:
    return "1 test" if count == 1 else f"{count} tests"
