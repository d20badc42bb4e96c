"""``ootci bisect``."""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.terminal import Progress
from ootci.cli.bisect_range import NightlyIndex
from ootci.cli.bisect_step import Stepper, holding_commit, with_one_suite
from ootci.cli.bisect_text import bisection_text
from ootci.cli.context import Folders, folder_options, format_option, progress
from ootci.cli.test import suites_folder, suites_option
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, BisectionChanged, OotciError
from ootci.history.last_passed import commit_to_hold, last_passed_and_first_failed
from ootci.history.nightly_search import conclude, next_nightly, steps_left
from ootci.history.store import History
from ootci.model.bisection import Bisection, Ending, StepResult
from ootci.model.device import RegisteredDevice
from ootci.model.record import read, write
from ootci.model.run import Run

_CODES = {
    Ending.FIRST_BAD: EXIT_FINE,
    Ending.RANGE: EXIT_FINE,
    Ending.GOOD_END_FAILS: EXIT_DEVICE,
    Ending.BAD_END_PASSES: EXIT_DEVICE,
    Ending.END_UNTESTABLE: EXIT_INFRASTRUCTURE,
}


@click.command("bisect", short_help="Find the nightly that broke a test.")
@click.argument("device")
@click.argument("test")
@click.option("--good", metavar="NIGHTLY", help="Nightly on which the test passed; the history knows when absent.")
@click.option("--bad", metavar="NIGHTLY", help="Later nightly on which it failed; the history knows when absent.")
@click.option("--repeat", type=click.IntRange(1, 100), default=1, show_default=True, help="Runs on each nightly.")
@click.option("--retry", is_flag=True, help="Test again what could not be tested before.")
@click.option("--restart", is_flag=True, help="Forget the steps of an earlier call, and begin again.")
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
    suites_dir: Path | None,
    output_format: str,
    folders: Folders,
) -> None:
    """Find the PyTorch nightly on which TEST began to fail on DEVICE, by testing nightlies in between.

    TEST is an id as reports show it, such as integration/test_rng.py::test_seed_makes_numbers_repeat. The history says
    on which nightly it last passed and first failed after that; --good and --bad name others, as versions or as dates
    such as 20261121.

    Each step is a device run with the same stages as any other, on another nightly, with the same plugin, and with
    that one test. A nightly on which it fails once in --repeat runs is bad. One that is gone from the index, or on
    which the plugin does not build or import, is passed over; the answer may then be a range. The two ends are tested
    first. Every step is kept in the work folder under bisect/: the same call goes on where an earlier one was ended,
    and another call begins a search of its own.

    Exit codes: 0 the first bad nightly is found, or a range of nightlies that cannot be tested; 1 the test fails on
    the good end or passes on the bad end, so that torch alone is not it; 2 the input is wrong; 3 an end cannot be
    tested, or infrastructure failed.
    """
    progress_ = progress()
    suites = suites_folder(suites_dir)
    item = with_one_suite(folders.device(device), test)
    searches = folders.work / "bisect"
    with locked(searches):
        begun, item = _begin(item, test, good, bad, repeat, History(folders.history))
        folder = searches / begun.identity
        if restart:
            shutil.rmtree(folder, ignore_errors=True)
        file = folder / Bisection.FILE
        state = _resumed(begun, file, retry, progress_)
        try:
            with _sigterm_interrupts():
                state = _search(state, file, Stepper(item, test, repeat, folder, suites, progress_))
        except (KeyboardInterrupt, OotciError):
            _print(read(Bisection, file) if file.exists() else state, output_format)
            progress_.say("what is known is kept: the same command goes on from here")
            raise
        for name in ("envs", "building"):
            shutil.rmtree(folder / name, ignore_errors=True)
    _print(state, output_format)
    sys.exit(_CODES[state.conclusion.ending] if state.conclusion else EXIT_INFRASTRUCTURE)


def _begin(
    item: RegisteredDevice, test: str, good: str | None, bad: str | None, repeat: int, history: History
) -> tuple[Bisection, RegisteredDevice]:
    """A bisection without steps, and the device with the plugin that it holds, as far as the history says which."""
    index = NightlyIndex.of(item.device)
    first = index.find(good, "--good") if good else None
    last = index.find(bad, "--bad") if bad else None
    runs: list[Run] = []
    if first is None or last is None:
        passed, failed = last_passed_and_first_failed(history, item.device.name, test, good=first, bad=last)
        runs = [run for run in (passed, failed) if run is not None]
        first = first or index.find(_torch(passed), "--good")
        last = last or index.find(_torch(failed), "--bad")
        if failed is not None and (commit := commit_to_hold(failed)):
            item = holding_commit(item, commit)
    begun = Bisection(
        device=item.device.name,
        device_sha256=item.sha256,
        test=test,
        repeat=repeat,
        nightlies=index.between(first, last),
        from_history=tuple(run.id for run in runs),
    )
    return begun, item


def _torch(run: Run | None) -> str:
    return run.torch.version if run and run.torch else ""


def _resumed(begun: Bisection, file: Path, retry: bool, progress_: Progress) -> Bisection:
    """The search as an earlier call left it, if there was one."""
    if not file.exists():
        return begun
    state = read(Bisection, file)
    if state.device_sha256 != begun.device_sha256:
        raise BisectionChanged(
            "the device file has changed since the bisection began",
            where=str(file),
            fix="put it back as it was, or begin again with --restart",
        )
    if retry:
        kept = tuple(step for step in state.steps if step.result is not StepResult.UNTESTABLE)
        state = state.model_copy(update={"steps": kept})
        state = state.model_copy(update={"conclusion": conclude(state)})
    progress_.say(f"bisect: {len(state.steps)} nightlies were tested by an earlier call")
    return state


def _search(state: Bisection, file: Path, stepper: Stepper) -> Bisection:
    """Step by step until nothing is left to test; what is known is written after each."""
    while (nightly := next_nightly(state)) is not None:
        stepper.progress.say(f"bisect: torch {nightly} ({steps_left(state)} to go, unless some cannot be tested)")
        step, held = stepper.step(nightly, state.plugin)
        state = state.model_copy(update={"steps": (*state.steps, step), "plugin": held})
        state = state.model_copy(update={"conclusion": conclude(state)})
        write(state, file)
        stepper.progress.say(f"bisect: torch {nightly} is {step.result.value}")
    return state


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """Let SIGTERM end the search as Ctrl-C does, so that what runs is ended and what is known is told."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _print(state: Bisection, output_format: str) -> None:
    if output_format == "json":
        click.echo(state.to_json(), nl=False)
    else:
        click.echo(bisection_text(state, markdown=output_format == "markdown"))
