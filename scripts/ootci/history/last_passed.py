"""Between which two nightlies a test began to fail, as far as the history knows."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from packaging.version import InvalidVersion, Version

from ootci.errors import NothingToBisect
from ootci.history.nights import DeviceNight, Seen, spell_of
from ootci.history.store import History
from ootci.model.outcome import AS_THEY_SHOULD, FAILURES
from ootci.model.spell import Mark
from ootci.model.torch_build import Channel

_INSTEAD = "or name both nightlies with --good and --bad"


def ends_of(
    history: History, device: str, test: str, *, good: Version | None = None, bad: Version | None = None
) -> tuple[Mark | None, Mark | None]:
    """The last nightly on which the test passed, and the first after it on which it failed.

    Nights on which it was flaky, was skipped or did not run say neither. Of a nightly that ran more than once, the last
    attempt counts.

    Args:
        good: a nightly that is known to be good; then only the one that failed is looked for, among later ones.
        bad: a nightly that is known to be bad; then only the one that passed is looked for, among earlier ones.

    Returns:
        The two nights; None in the place of one that was not looked for.

    Raises:
        NothingToBisect: it does not fail now, never passed, is in no run, or torch was the same on both nights.
        HistoryCorrupt: a record of the history cannot be read back.

    """
    seen = [
        item
        for version, item in _results(history, device, test)
        if (good is None or version > good) and (bad is None or version < bad)
    ]
    passed = next((item.mark for item in seen if item.outcome in AS_THEY_SHOULD), None)
    if bad is not None and passed is not None:
        return passed, None
    if not seen or bad is not None:
        when = f" on a nightly before {bad}" if bad else f" on a nightly after {good}" if good else " on a nightly"
        raise _nothing(
            history,
            f"no run of `{device}`{when} {'passed' if bad else 'says anything of'} `{test}`",
            _near(history, device, test),
        )
    spell = spell_of(seen)
    if spell is None:
        said = f"`{test}` passes in the newest run that says anything of it, {run_id(seen[0].mark, device)}"
        raise _nothing(history, said)
    if good is not None:
        return None, spell.first_failed
    if spell.last_passed is None:
        first = run_id(spell.first_failed, device)
        raise _nothing(history, f"`{test}` has never passed on a nightly; the first run in which it failed is {first}")
    _require_other_torch(history, spell.last_passed, spell.first_failed, test)
    return spell.last_passed, spell.first_failed


def run_id(mark: Mark, device: str) -> str:
    """The id of a device's run on a night."""
    return f"{mark.plan_id}-{device}"


def _results(history: History, device: str, test: str) -> Iterator[tuple[Version, Seen]]:
    """The clear results of the last attempts, newest nightly first, each with its torch."""
    for last, *_ in history.attempts_by_nightly(device):
        outcome, is_flaky = last.result(test)
        clear = outcome in FAILURES or outcome in AS_THEY_SHOULD
        if is_flaky or not clear or last.head.channel is not Channel.NIGHTLY or last.head.torch is None:
            continue
        version = _version(last.head.torch.version)
        if version is not None:
            yield version, Seen(DeviceNight(history.plan(last.head.plan_id), last).mark, outcome)


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


def _require_other_torch(history: History, passed: Mark, failed: Mark, test: str) -> None:
    if (passed.torch_version, passed.torch_commit) != (failed.torch_version, failed.torch_commit):
        return
    commits = passed.plugin_commit, failed.plugin_commit
    changed = f"; the plugin went from {commits[0]} to {commits[1]}" if commits[0] != commits[1] else ""
    raise _nothing(history, f"`{test}` passed and then failed on the same torch {passed.torch_version}{changed}")


def _nothing(history: History, what: str, hint: str = "") -> NothingToBisect:
    return NothingToBisect(what, where=str(history.folder), fix=f"{hint}look at `ootci diff`, {_INSTEAD}")


def commit_to_hold(mark: Mark) -> str | None:
    """The plugin's commit on a night, where it was a clean one."""
    commit = mark.plugin_commit
    return commit if commit and re.fullmatch("[0-9a-f]{40}", commit) else None
