"""Between which two nightlies a test began to fail, as far as the history knows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from ootci.errors import NothingToBisect
from ootci.history.store import History
from ootci.history.stored import StoredRun
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES
from ootci.model.run import Run
from ootci.model.torch_build import Channel

_INSTEAD = "or name both nightlies with --good and --bad"


def last_passed_and_first_failed(
    history: History, device: str, test: str, *, good: Version | None = None, bad: Version | None = None
) -> tuple[Run | None, Run | None]:
    """The last run on a nightly in which the test passed, and the first after it in which it failed.

    Runs in which it was flaky, was skipped or did not run say neither. Of a nightly that ran more than once, the last
    attempt counts.

    Args:
        history: past runs.
        device: name of the device.
        test: the test.
        good: a nightly that is known to be good; then only the run that failed is looked for, on later ones.
        bad: a nightly that is known to be bad; then only the run that passed is looked for, on earlier ones.

    Returns:
        The two runs, without their outcomes; None in the place of one that was not looked for.

    Raises:
        NothingToBisect: it does not fail now, never passed, is in no run, or torch was the same in both runs.
        HistoryCorrupt: a record of the history cannot be read back.

    """
    failed: Run | None = None
    for run, version, passed in _results(history, device, test):
        if bad is not None:
            if passed and version < bad:
                return run, None
        elif good is not None and version <= good:
            break
        elif not passed:
            failed = run
        elif failed is None:
            raise _nothing(history, f"`{test}` passes in the newest run that says anything of it, {run.id}")
        else:
            return (None if good else run), _on_another_torch(history, run, failed, test)
    if failed is None:
        when = f" on a nightly before {bad}" if bad else f" on a nightly after {good}" if good else " on a nightly"
        raise _nothing(
            history,
            f"no run of `{device}`{when} {'passed' if bad else 'says anything of'} `{test}`",
            _near(history, device, test),
        )
    if good is None:
        raise _nothing(
            history, f"`{test}` has never passed on a nightly; the first run in which it failed is {failed.id}"
        )
    return None, failed


def _results(history: History, device: str, test: str) -> Iterator[tuple[Run, Version, bool]]:
    """The last attempts that came to a clear result, newest nightly first: the run, its torch, whether it passed."""
    for last, *_ in history.attempts_by_nightly(device):
        passed, torch = _says(last, test), last.head.torch
        if passed is not None and torch is not None and (version := _version(torch.version)) is not None:
            yield last.head, version, passed


def _version(text: str) -> Version | None:
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _near(history: History, device: str, test: str) -> str:
    """Tests of the newest run that had any whose ids are much like it."""
    tested = next((run for run in history.newest_stored(device) if run.rows()), None)
    ids = list(tested.ids(tested.rows())) if tested is not None else []
    near = difflib.get_close_matches(test, ids, n=3) if test not in ids else []
    return f"did you mean {' or '.join(f'`{name}`' for name in near)}? " if near else ""


def _says(run: StoredRun, test: str) -> bool | None:
    """Whether the test passed; None where the run is not on a nightly or came to no clear result."""
    outcome, is_flaky = run.result(test)
    if is_flaky or run.head.channel is not Channel.NIGHTLY:
        return None
    if outcome in FAILURES:
        return False
    return True if outcome in AS_THEY_SHOULD else None


def _on_another_torch(history: History, passed: Run, failed: Run, test: str) -> Run:
    if passed.torch != failed.torch:
        return failed
    version = passed.torch.version if passed.torch else "none"
    commits = [run.plugin.commit if run.plugin else None for run in (passed, failed)]
    changed = f"; the plugin went from {commits[0]} to {commits[1]}" if commits[0] != commits[1] else ""
    raise _nothing(history, f"`{test}` passed and then failed on the same torch {version}{changed}")


def _nothing(history: History, what: str, hint: str = "") -> NothingToBisect:
    return NothingToBisect(what, where=str(history.folder), fix=f"{hint}look at `ootci diff`, {_INSTEAD}")


def commit_to_hold(run: Run) -> str | None:
    """The plugin's commit in a run, where it was a clean one."""
    commit = run.plugin.commit if run.plugin else None
    return commit if commit and re.fullmatch("[0-9a-f]{40}", commit) else None
