"""A bisection for people: its steps, what it came to, and how to go on."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ootci.cli.report import one_line, seconds_text, table
from ootci.model.bisection import Bisection, Conclusion, Ending, Step
from ootci.model.torch_build import TorchBuild

_REASON = 120
_HEADINGS = ("nightly", "commit", "step", "result", "outcomes", "took", "reason")

_SENTENCES = {
    Ending.FIRST_BAD: "The test passes on {good} and fails on {bad}, the nightly after it.",
    Ending.RANGE: "The test passes on {good} and fails on {bad}; {between} in between could not be tested.",
    Ending.GOOD_END_FAILS: (
        "The test fails on {bad} too, where it passed before: it was not torch that changed. Look at the plugin, "
        "the suites and the machine, or name an older nightly with --good."
    ),
    Ending.BAD_END_PASSES: (
        "The test passes on {good}, where it failed before: with this plugin, on this machine, torch does not break "
        "it. If it fails now and then only, try --repeat."
    ),
    Ending.END_UNTESTABLE: (
        "One of the two ends could not be tested, so there is nothing to search between. "
        "Name another nightly with --good or --bad."
    ),
}


def bisection_text(bisection: Bisection, *, markdown: bool) -> str:
    """The steps, oldest nightly first, and what they came to."""
    rows = [_row(number, step, markdown) for number, step in enumerate(bisection.steps, start=1)]
    rows.sort(key=lambda row: bisection.nightlies.index(row[0]))
    parts = ["\n".join(_heading(bisection)), table(_HEADINGS, rows, "markdown" if markdown else "text")]
    if bisection.conclusion is None:
        parts.append(f"Not finished: {len(rows)} of {len(bisection.nightlies)} nightlies tested.")
    else:
        parts.append("\n".join(_conclusion(bisection.conclusion, markdown)))
        parts += _going_on(bisection, bisection.conclusion, markdown)
    return "\n\n".join(parts)


def _heading(bisection: Bisection) -> Iterator[str]:
    yield f"{bisection.device}: {one_line(bisection.test)}"
    if bisection.plugin is not None:
        build = bisection.plugin
        commit = f", commit {build.commit}" if build.commit else ""
        yield f"plugin {one_line(build.package)} {one_line(build.version or 'unknown')}{commit}, the same in every step"
    ends = bisection.nightlies[0], bisection.nightlies[-1]
    origin = " and ".join(bisection.from_history)
    whence = f", by the runs {origin}" if origin else ", as asked for"
    yield f"{len(bisection.nightlies)} nightlies from {ends[0]} (good) to {ends[1]} (bad){whence}"


def _row(number: int, step: Step, markdown: bool) -> tuple[str, ...]:
    reason = one_line(step.reason or "")
    reason = reason if len(reason) <= _REASON else reason[: _REASON - 2] + " …"
    return (
        step.nightly,
        (step.git_version or "unknown")[:12],
        str(number),
        step.result.value,
        ", ".join(outcome.value for outcome in step.outcomes) or "none",
        seconds_text(step.duration),
        "`" + reason.replace("`", "'") + "`" if markdown and reason else reason,
    )


def _conclusion(conclusion: Conclusion, markdown: bool) -> Iterator[str]:
    count = len(conclusion.between)
    yield _SENTENCES[conclusion.ending].format(
        good=_named(conclusion.last_good),
        bad=_named(conclusion.first_bad),
        between="1 nightly" if count == 1 else f"{count} nightlies",
    )
    bullet = "- " if markdown else ""
    if conclusion.last_good and conclusion.first_bad:
        if markdown:
            yield ""
        yield f"{bullet}first bad nightly {_with_commit(conclusion.first_bad)}"
        yield f"{bullet}last good nightly {_with_commit(conclusion.last_good)}"
    if conclusion.commits:
        yield f"{bullet}PyTorch's commits between them: {conclusion.commits}"


def _named(build: TorchBuild | None) -> str:
    return build.version if build else "none"


def _with_commit(build: TorchBuild) -> str:
    return f"{build.version} (commit {one_line(build.git_version or 'unknown')})"


def _going_on(bisection: Bisection, conclusion: Conclusion, markdown: bool) -> Iterator[str]:
    """How to find the commit, for which torch has to be built.

    A nightly is built from a commit of PyTorch's branch ``nightly`` whose subject names the commit of ``main`` that it
    was made of (PyTorch, tools/nightly.py).
    """
    good, bad = conclusion.last_good, conclusion.first_bad
    if conclusion.commits is None or good is None or bad is None:
        return
    commands = [
        f"git fetch origin {good.git_version} {bad.git_version}",
        f"git log --no-walk=unsorted --format=%s {good.git_version} {bad.git_version}",
        "git bisect start BAD GOOD",
    ]
    place = f"python -m pytest {shlex.quote(bisection.test.partition('::')[0])} --id {shlex.quote(bisection.test)}"
    yield (
        "To find the commit, in a checkout of PyTorch: the second command prints the commits of main that the two "
        "nightlies were made of, first GOOD and then BAD of the third command."
    )
    yield "\n".join(["```console", *commands, "```"] if markdown else [f"  {command}" for command in commands])
    test = f"{place} --device {bisection.device}"
    yield (
        "At each commit that it chooses, build torch and the plugin, run this in the suites folder, and tell it "
        "`git bisect good` or `git bisect bad`:\n\n"
        + ("\n".join(["```console", test, "```"]) if markdown else f"  {test}")
    )
