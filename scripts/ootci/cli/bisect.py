"""``ootci bisect``."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.progress import Progress
from ootci.cli.options import folder_options, format_option, suites_option
from ootci.cli.show import code, one_line, shortened, show, table
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, OotciError
from ootci.flows.bisect import begin, resume
from ootci.flows.context import Folders
from ootci.history.store import History
from ootci.model.bisection import Bisection, Conclusion, Ending, Step
from ootci.model.torch_build import TorchBuild
from ootci.model.words import duration, many

_CODES = {
    Ending.FIRST_BAD: EXIT_FINE,
    Ending.RANGE: EXIT_FINE,
    Ending.GOOD_END_FAILS: EXIT_DEVICE,
    Ending.BAD_END_PASSES: EXIT_DEVICE,
    Ending.END_UNTESTABLE: EXIT_INFRASTRUCTURE,
}

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


@click.command("bisect", short_help="Find the nightly that broke a test.")
@click.argument("device")
@click.argument("test")
@click.option("--good", metavar="NIGHTLY", help="Nightly on which the test passed. Default: from the history.")
@click.option("--bad", metavar="NIGHTLY", help="Later nightly on which it failed. Default: from the history.")
@click.option(
    "--repeat", type=click.IntRange(1, 100), default=1, show_default=True, help="Number of runs on each nightly."
)
@click.option("--retry", is_flag=True, help="Repeat nightlies that could not be tested.")
@click.option("--restart", is_flag=True, help="Delete the steps of an earlier call, and start again.")
@suites_option
@format_option
@folder_options("devices", "work", "history")
def bisect(
    device: str,
    test: str,
    good: str | None,
    bad: str | None,
    repeat: int,
    retry: bool,
    restart: bool,
    suites: Path,
    output_format: str,
    folders: Folders,
) -> None:
    """Find the PyTorch nightly on which TEST began to fail on DEVICE, by testing nightlies in between.

    TEST is a test id, such as integration/test_rng.py::test_seed_makes_numbers_repeat. --good and --bad are versions,
    or dates such as 20261121; by default, the last pass and the first failure after it in the history.

    Each step is a device run on another nightly, with the same plugin and only TEST. A nightly is bad if TEST fails in
    one of --repeat runs. A nightly that is not in the index, or on which the plugin does not build or import, is
    skipped; the result may then be a range. The two ends are tested first. Steps are kept in the work folder under
    bisect/: the same call continues an interrupted bisection.

    \b
    Examples:
      ootci bisect mydevice smoke/test_basic.py::test_device_count
      ootci bisect mydevice smoke/test_basic.py::test_device_count --good 20261101 --repeat 3

    Exit codes: 0 the first bad nightly, or a range, was found; 1 TEST fails on the good end or passes on the bad end,
    so PyTorch is not the only cause; 2 the input is wrong; 3 an end cannot be tested, or infrastructure failed.
    """
    progress, searches = Progress(), folders.work / "bisect"
    with locked(searches):
        item, history = folders.device(device), History(folders.history)
        search = begin(item, test, good, bad, repeat, history, searches, suites, progress)
        if restart:
            shutil.rmtree(search.folder, ignore_errors=True)
        resume(search, retry=retry)
        try:
            search.run()
        except (KeyboardInterrupt, OotciError):
            _show(search.state, output_format)
            progress.say("what is known is kept: the same command goes on from here")
            raise
    _show(search.state, output_format)
    ending = search.state.conclusion
    sys.exit(_CODES[ending.ending] if ending else EXIT_INFRASTRUCTURE)


def _show(bisection: Bisection, output_format: str) -> None:
    show(bisection, output_format, lambda markdown: _text(bisection, markdown))


def _text(bisection: Bisection, markdown: bool) -> str:
    """The steps, oldest nightly first, and the conclusion."""
    rows = [_row(number, step, markdown) for number, step in enumerate(bisection.steps, start=1)]
    rows.sort(key=lambda row: bisection.nightlies.index(row[0]))
    parts = ["\n".join(_heading(bisection)), table(_HEADINGS, rows, markdown=markdown)]
    if bisection.conclusion is None:
        parts.append(f"Not finished: {len(rows)} of {len(bisection.nightlies)} nightlies tested.")
    else:
        parts.append("\n".join(_conclusion(bisection.conclusion, markdown)))
        parts += _next_steps(bisection, bisection.conclusion, markdown)
    return "\n\n".join(parts)


def _heading(bisection: Bisection) -> Iterator[str]:
    yield f"{bisection.device}: {one_line(bisection.test)}"
    if bisection.plugin is not None:
        build = bisection.plugin
        commit = f", commit {build.commit}" if build.commit else ""
        yield f"plugin {one_line(build.package)} {one_line(build.version or 'unknown')}{commit}, the same in every step"
    ends = bisection.nightlies[0], bisection.nightlies[-1]
    origin = " and ".join(bisection.from_history)
    whence = f", by the runs {origin}" if origin else ", as requested"
    yield f"{len(bisection.nightlies)} nightlies from {ends[0]} (good) to {ends[1]} (bad){whence}"


def _row(number: int, step: Step, markdown: bool) -> tuple[str, ...]:
    reason = shortened(step.reason or "", _REASON)
    return (
        step.nightly,
        (step.git_version or "unknown")[:12],
        str(number),
        step.result.value,
        ", ".join(outcome.value for outcome in step.outcomes) or "none",
        duration(step.duration),
        code(reason, markdown=markdown) if reason else "",
    )


def _conclusion(conclusion: Conclusion, markdown: bool) -> Iterator[str]:
    yield _SENTENCES[conclusion.ending].format(
        good=_named(conclusion.last_good),
        bad=_named(conclusion.first_bad),
        between=many(len(conclusion.between), "nightly", "nightlies"),
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


def _next_steps(bisection: Bisection, conclusion: Conclusion, markdown: bool) -> Iterator[str]:
    """How to find the commit by building torch.

    Where it is not known which commits of ``main`` the nightlies were made of, their subjects name them (PyTorch,
    tools/nightly.py).
    """
    good, bad = conclusion.last_good, conclusion.first_bad
    if conclusion.commits is None or good is None or bad is None:
        return
    if good.made_of and bad.made_of:
        commands, how = [f"git bisect start {bad.made_of} {good.made_of}"], ""
    else:
        commands = [
            f"git fetch origin {good.git_version} {bad.git_version}",
            f"git log --no-walk=unsorted --format=%s {good.git_version} {bad.git_version}",
            "git bisect start BAD GOOD",
        ]
        how = (
            " the second command prints the commits of main that the two nightlies were made of, first GOOD and then "
            "BAD of the third command."
        )
    place = f"python -m pytest {shlex.quote(bisection.test.partition('::')[0])} --id {shlex.quote(bisection.test)}"
    yield f"To find the commit, in a checkout of PyTorch:{how}"
    yield "\n".join(["```console", *commands, "```"] if markdown else [f"  {command}" for command in commands])
    test = f"{place} --device {bisection.device}"
    yield (
        "At each commit that it chooses, build torch and the plugin, run this in the suites folder, and tell it "
        "`git bisect good` or `git bisect bad`:\n\n"
        + ("\n".join(["```console", test, "```"]) if markdown else f"  {test}")
    )
