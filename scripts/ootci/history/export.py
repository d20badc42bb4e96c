"""The history as tables, for tools that know nothing of its encoding."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any

from ootci.errors import NotInHistory
from ootci.model.outcome import OutcomeName
from ootci.model.run import Run

from .details import Measures, Texts
from .reader import HistoryReader
from .states import outcome_of, way_of
from .stored import StoredRun

_T, _I, _R = "TEXT", "INTEGER", "REAL"
_KEY = (("device", _T), ("nightly", _T), ("attempt", _I))
_COUNTS = (*(outcome.value for outcome in OutcomeName), "flaky")

TABLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "nightlies": (("nightly", _T), ("planned_at", _T), ("event", _T), ("url", _T)),
    "runs": (
        *_KEY,
        *(("run_id", _T), ("started_at", _T), ("finished_at", _T), ("seconds", _R), ("queue_seconds", _R)),
        *(("torch_wanted", _T), ("torch_channel", _T), ("torch_version", _T), ("torch_commit", _T)),
        *(("plugin_version", _T), ("plugin_commit", _T), ("python", _T), ("os", _T), ("machine", _T), ("runner", _T)),
        *(("stage_reached", _T), *((name, _I) for name in _COUNTS), ("url", _T)),
    ),
    "stages": (*_KEY, ("stage", _T), ("status", _T), ("started_at", _T), ("seconds", _R), ("reason", _T)),
    "outcomes": (
        *_KEY,
        *(("test", _T), ("suite", _T), ("capability", _T), ("outcome", _T), ("ran", _T), ("later", _T)),
        *(("signature", _T), ("signature_text", _T), ("seconds", _R), ("message", _T)),
    ),
}
"""Tables, their columns and their types in SQLite; any column may be empty in a row. `later` names the outcomes of
later attempts in the same run, `seconds` and `message` are there while the run's details are kept."""

REMARKABLE = frozenset(OutcomeName) - {OutcomeName.PASSED, OutcomeName.SKIPPED, OutcomeName.UNSUPPORTED}
"""The others are left out unless all are requested; the table of runs counts them."""


def exported(
    history: HistoryReader, *, devices: Collection[str] = (), since: datetime | None = None, everything: bool = False
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Each row with its table's name, read a run at a time.

    Args:
        devices: these devices only; all when empty.
        since: only nightlies that were planned then or later.
        everything: every outcome, not only the remarkable ones.

    Raises:
        NotInHistory: a device never reported.
        HistoryCorrupt: a record cannot be read back.

    """
    wanted = {plan.id for plan in history.plans() if since is None or plan.created_at >= since}
    for name in devices:
        if name not in history.devices():
            there = ", ".join(f"`{device}`" for device in history.devices()) or "none"
            raise NotInHistory(
                f"no device `{name}` is in the history", where=str(history.folder), fix=f"name one that is: {there}"
            )
    for plan in history.plans():
        if plan.id in wanted:
            yield "nightlies", (plan.id, plan.created_at, plan.trigger.event, plan.trigger.url)
    for device in devices or history.devices():
        for key in history.run_keys(device):
            if key.plan_id in wanted:
                yield from _of_run(history, history.stored_run(key), everything)


def _of_run(history: HistoryReader, run: StoredRun, everything: bool) -> Iterator[tuple[str, tuple[Any, ...]]]:
    head = run.head
    key = (head.device, head.plan_id, head.attempt)
    yield "runs", (*key, *_facts(run, head))
    for stage in head.stages:
        yield "stages", (*key, stage.name, stage.status.value, stage.started_at, stage.duration, stage.reason)
    for row in _outcomes(history, run, everything):
        yield "outcomes", (*key, *row)


def _facts(run: StoredRun, head: Run) -> tuple[Any, ...]:
    torch, plugin, environment, counts = head.torch, head.plugin, head.environment, run.counts()
    return (
        *(head.id, head.started_at, head.finished_at, head.duration, head.queue_duration),
        *(head.torch_request.wanted, head.torch_request.channel.value),
        *((torch.version, torch.git_version) if torch else (None, None)),
        *((plugin.version, plugin.commit) if plugin else (None, None)),
        *(environment.python, environment.os, environment.machine, environment.runner),
        head.stage_reached,
        *(getattr(counts, name) for name in _COUNTS),
        head.url,
    )


def _outcomes(history: HistoryReader, run: StoredRun, everything: bool) -> Iterator[tuple[Any, ...]]:
    texts, measures = history.details(run, Texts), history.details(run, Measures)
    for row in run.rows() if everything else run.with_outcomes(REMARKABLE):
        place, test, outcome = run.places.place(row), run.tests[row], outcome_of(run.states[row])
        way, signature = way_of(run.states[row]), run.signatures.get(row)
        said = texts.tests.get(place) if texts else None
        yield (
            *(test.id, test.suite, test.capability, outcome.value if outcome else None, way.value if way else None),
            " ".join(later.value for later in run.attempts.get(row, ())) or None,
            *((signature.id, signature.text) if signature else (None, None)),
            measures.durations[place] if measures and measures.durations else None,
            said.message if said else None,
        )
