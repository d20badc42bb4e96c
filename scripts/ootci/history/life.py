"""The history of a test: its outcome on one device, night by night."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from ootci.errors import NotInHistory
from ootci.model.cluster import Streak
from ootci.model.outcome import OutcomeName, Way
from ootci.model.plan import Plan
from ootci.model.record import Record, Time
from ootci.model.torch_build import TorchBuild

from .details import Texts
from .nights import DeviceNight, attempts_by_nightly, results, streak_of
from .reader import HistoryReader
from .states import number_of, outcome_of, rows_in, way_of
from .stored import StoredRun

NEAR = 5
"""The most existing names that an error lists."""
_WORD = re.compile("[A-Za-z0-9]+")


class LifeEntry(Record):
    """One attempt, or a night without one."""

    nightly: str
    """Id of the nightly's plan."""
    planned_at: Time
    """When it was planned."""
    attempt: int | None = None
    """The attempt; null where the device did not report."""
    outcome: OutcomeName | None = None
    """The outcome of the test; null where it was not in the run."""
    later: tuple[OutcomeName, ...] = ()
    """Its outcome on retry in the same run."""
    ran: Way | None = None
    """How its work was done, where that was counted."""
    absent: str | None = None
    """Why there is no outcome, where there is none."""
    torch: TorchBuild | None = None
    """The torch that it ran on."""
    plugin_version: str | None = None
    """Version of the plugin."""
    plugin_commit: str | None = None
    """Commit of the plugin."""
    message: str | None = None
    """First line of the failure, where it is still kept. Hostile until escaped."""


class Life(Record):
    """The outcome of a test on one device."""

    device: str
    """Name of the device."""
    test: str
    """The test's id."""
    suite: str
    """Its suite."""
    capability: str | None
    """Its capability in the newest run that has it."""
    title: str | None
    """Its title in the newest run that has it."""
    entries: tuple[LifeEntry, ...]
    """Every night that the device was expected on, oldest first, from the first one with the test."""
    streak: Streak | None
    """Since when it fails; null where it does not fail now."""

    def intervals(self) -> list[list[LifeEntry]]:
        """The entries; adjacent nights with the same result are one."""
        return [list(group) for _, group in groupby(self.entries, key=attrgetter("outcome", "later", "absent"))]


def matching_tests(history: HistoryReader, device: str, name: str) -> tuple[str, ...]:
    """The ids of a device's tests that a name means: the test of that very id, or all that fit it with ``*`` and ``?``.

    Brackets mean themselves, because ids have them.

    Raises:
        NotInHistory: the device never reported, or none of its tests fits; the error names the nearest.
        HistoryCorrupt: a record cannot be read back.

    """
    if device not in history.devices():
        raise _unknown(f"no device `{device}`", device, history.devices(), history)
    ids = _ids(history, history.stored_runs(device))
    if name in ids:
        return (name,)
    found = fnmatch.filter(ids, name.replace("[", "[[]"))
    if not found:
        within = [test for test in ids if name in test]
        raise _unknown(f"no test `{name}` of `{device}`", name, within[:NEAR] or ids, history)
    return tuple(found)


def life_of(history: HistoryReader, device: str, test: str) -> Life:
    """The outcome of a test of a device.

    Raises:
        NotInHistory: the device never had that test.
        HistoryCorrupt: a record cannot be read back.

    """
    rows = history.tests.rows_of_id(test)
    runs = attempts_by_nightly(history.stored_runs(device))
    entries: list[LifeEntry] = []
    nights: list[DeviceNight] = []
    newest: int | None = None
    for plan in history.plans():
        attempts = runs.get(plan.id, [])
        nights += [DeviceNight(plan, attempts[-1])] if attempts else []
        for run in attempts:
            row = next((row for row in rows if run.outcome(row) is not None), None)
            newest = newest if row is None else row
            if newest is not None:
                entries.append(_entry(history, plan, run, row))
        if not attempts and newest is not None and plan.expected(device):
            entries.append(LifeEntry(nightly=plan.id, planned_at=plan.created_at, absent="no report"))
    if newest is None:
        raise _unknown(f"no test `{test}` of `{device}`", test, (), history)
    known = history.tests[newest]
    return Life(
        device=device,
        test=test,
        suite=known.suite,
        capability=known.capability,
        title=known.title,
        entries=tuple(entries),
        streak=streak_of(results(reversed(nights), test)),
    )


def _entry(history: HistoryReader, plan: Plan, run: StoredRun, row: int | None) -> LifeEntry:
    plugin = run.head.plugin
    return LifeEntry(
        nightly=plan.id,
        planned_at=plan.created_at,
        attempt=run.head.attempt,
        outcome=None if row is None else outcome_of(run.states[row]),
        later=() if row is None else run.attempts.get(row, ()),
        ran=None if row is None else way_of(run.states[row]),
        absent=_why_absent(run) if row is None else None,
        torch=run.head.torch,
        plugin_version=plugin.version if plugin else None,
        plugin_commit=plugin.commit if plugin else None,
        message=None if row is None else _message(history, run, row),
    )


def _why_absent(run: StoredRun) -> str:
    for stage in run.head.stages:
        if stage.broke:
            return f"not in the run: {stage.name} {stage.status.value}"
    return "not in the run"


def _message(history: HistoryReader, run: StoredRun, row: int) -> str | None:
    texts = None if run.outcome(row) is OutcomeName.PASSED else history.details(run, Texts)
    said = texts.tests.get(run.places.place(row)) if texts else None
    return said.message if said else None


def _ids(history: HistoryReader, runs: Sequence[StoredRun]) -> list[str]:
    """Every test that was in one of the runs, sorted."""
    seen = 0
    for run in runs:
        seen |= number_of(run.states)
    return sorted({history.tests[row].id for row in rows_in(seen)})


def _unknown(what: str, name: str, there: Sequence[str], history: HistoryReader) -> NotInHistory:
    names = ", ".join(f"`{found}`" for found in _near(name, there))
    return NotInHistory(
        f"{what} is in the history",
        where=str(history.folder),
        fix=f"name one that is there, such as {names}"
        if names
        else "append runs, or get them with `ootci history fetch`",
    )


def _near(name: str, there: Sequence[str]) -> list[str]:
    """The names most like one: by letters, else by the words that they share, as a part of an id has few letters."""
    by_letters = difflib.get_close_matches(name, there, n=NEAR, cutoff=0.5)
    words = set(_WORD.findall(name))
    return by_letters or sorted(there, key=lambda found: -len(words.intersection(_WORD.findall(found))))[:NEAR]
