"""How each verdict, outcome and stage status is shown: a glyph, a word and a tone, never a colour alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from ootci.model.build import StageStatus
from ootci.model.capability import CapabilityState
from ootci.model.cluster import Cause
from ootci.model.device import RegisteredDevice, Tier
from ootci.model.outcome import Counts, OutcomeName
from ootci.model.pull_request import EffectName
from ootci.model.run import CapabilityCounts, ReportState
from ootci.model.verdict import (
    Answer,
    ChangeName,
    DeviceVerdict,
    ExpectationState,
    KnownFailureState,
    VerdictName,
    Verdicts,
)


@dataclass(frozen=True)
class Status:
    """A state as it is shown.

    Attributes:
        word: the word that names it everywhere.
        tone: a CSS class that colours it: ``good``, ``bad``, ``warn`` or ``off``.
        glyph: the shape that tells it from the others without colour; a symbol of the page's sprite.

    """

    word: str
    tone: str
    glyph: str


@dataclass(frozen=True)
class VerdictStatus(Status):
    """A verdict as it is shown.

    Attributes:
        look: the CSS class that colours a night with it in a grid.
        mark: the glyph that tells that night from others without colour; None for a plain cell.
        where: where it broke, in one word; None where nothing broke.

    """

    look: str
    mark: str | None
    where: str | None = None


VERDICTS: Mapping[VerdictName, VerdictStatus] = MappingProxyType(
    {
        VerdictName.BUILD_BROKEN: VerdictStatus("BUILD BROKEN", "bad", "cross", "broken", "block", "BUILD"),
        VerdictName.IMPORT_BROKEN: VerdictStatus("IMPORT BROKEN", "bad", "cross", "broken", "block", "IMPORT"),
        VerdictName.SMOKE_BROKEN: VerdictStatus("SMOKE BROKEN", "bad", "cross", "broken", "block", "SMOKE"),
        VerdictName.REGRESSED: VerdictStatus("REGRESSED", "bad", "down", "new", "down", "TESTS"),
        VerdictName.LOST_TESTS: VerdictStatus("LOST TESTS", "bad", "minus", "lost", "minus", "TESTS"),
        VerdictName.FAILING: VerdictStatus("FAILING", "bad", "cross", "failing", "cross", "TESTS"),
        VerdictName.NO_DATA: VerdictStatus("NO DATA", "warn", "silent", "silent", "silent", "NO DATA"),
        VerdictName.INFRA: VerdictStatus("INFRA", "warn", "alert", "silent", "alert", "INFRA"),
        VerdictName.UNSTABLE: VerdictStatus("UNSTABLE", "warn", "wave", "flaky", "wave", "TESTS"),
        VerdictName.NEVER_RAN: VerdictStatus("NEVER RAN", "off", "never", "idle", "never"),
        VerdictName.KNOWN: VerdictStatus("KNOWN", "good", "known", "known", "known"),
        VerdictName.OK: VerdictStatus("OK", "good", "check", "ok", None),
        VerdictName.PAUSED: VerdictStatus("PAUSED", "off", "pause", "idle", "pause"),
    }
)
"""In the order of rows within a tier: what needs a person comes first."""

GATE: Mapping[Answer, Status] = MappingProxyType(
    {
        "yes": Status("Clear to merge", "good", "check"),
        "no": Status("Hold merges", "bad", "cross"),
        "cannot_say": Status("Cannot say", "off", "never"),
    }
)

OUTCOMES: Mapping[OutcomeName, Status] = MappingProxyType(
    {
        OutcomeName.PASSED: Status("passed", "good", "check"),
        OutcomeName.FAILED: Status("failed", "bad", "cross"),
        OutcomeName.ERROR: Status("error", "bad", "cross"),
        OutcomeName.CRASHED: Status("crashed", "bad", "alert"),
        OutcomeName.TIMED_OUT: Status("timed out", "bad", "clock"),
        OutcomeName.SKIPPED: Status("skipped", "off", "minus"),
        OutcomeName.XFAILED: Status("xfailed", "good", "known"),
        OutcomeName.XPASSED: Status("xpassed", "warn", "wave"),
        OutcomeName.UNSUPPORTED: Status("unsupported", "off", "never"),
        OutcomeName.NOT_RUN: Status("not run", "warn", "silent"),
    }
)

KNOWN: Mapping[KnownFailureState, Status] = MappingProxyType(
    {
        KnownFailureState.EXPIRED: Status("expired", "bad", "clock"),
        KnownFailureState.PASSES: Status("passes now", "warn", "wave"),
        KnownFailureState.UNMATCHED: Status("matches no test", "warn", "silent"),
        KnownFailureState.COVERS: Status("known", "good", "known"),
        KnownFailureState.OTHER_TORCH: Status("other torch", "off", "never"),
        KnownFailureState.UNSEEN: Status("not seen", "off", "never"),
    }
)
"""In the order in which they are shown: entries that need a change first."""

CLAIMS: Mapping[ExpectationState, Status] = MappingProxyType(
    {
        ExpectationState.WORKS: Status("works", "warn", "wave"),
        ExpectationState.PARTLY: Status("works in part", "warn", "wave"),
        ExpectationState.HOLDS: Status("unsupported", "off", "never"),
        ExpectationState.UNSEEN: Status("not seen", "off", "never"),
    }
)
"""In the order in which they are shown: entries that need a change first."""

STAGES: Mapping[StageStatus, Status] = MappingProxyType(
    {
        StageStatus.PASSED: Status("passed", "good", "check"),
        StageStatus.FAILED: Status("failed", "bad", "cross"),
        StageStatus.CRASHED: Status("crashed", "bad", "alert"),
        StageStatus.TIMED_OUT: Status("timed out", "bad", "clock"),
        StageStatus.NOT_RUN: Status("not run", "off", "never"),
    }
)

REPORTS: Mapping[ReportState, Status] = MappingProxyType(
    {
        ReportState.COMPLETE: Status("complete", "good", "check"),
        ReportState.TRUNCATED: Status("truncated", "bad", "minus"),
        ReportState.EMPTY: Status("empty", "bad", "silent"),
        ReportState.UNREADABLE: Status("unreadable", "bad", "silent"),
        ReportState.MISSING: Status("missing", "bad", "silent"),
        ReportState.NO_TESTS: Status("no tests", "bad", "silent"),
        ReportState.NOT_EXPECTED: Status("not started", "off", "never"),
    }
)

CHANGES: Mapping[ChangeName, Status] = MappingProxyType(
    {
        ChangeName.REGRESSION: Status("regression", "bad", "down"),
        ChangeName.NEW_FAILURE: Status("new failure", "bad", "cross"),
        ChangeName.STILL_FAILING: Status("still failing", "bad", "cross"),
        ChangeName.DISAPPEARED: Status("disappeared", "warn", "silent"),
        ChangeName.FIXED: Status("fixed", "good", "check"),
        ChangeName.NEW_PASS: Status("new pass", "good", "check"),
        ChangeName.APPEARED: Status("appeared", "off", "plus"),
    }
)
"""In the order in which they are shown: what got worse comes first."""

CAUSES: Mapping[Cause, Status] = MappingProxyType(
    {
        Cause.UPSTREAM: Status("probably upstream", "bad", "alert"),
        Cause.SUSPECTED_UPSTREAM: Status("perhaps upstream", "warn", "alert"),
        Cause.PLUGIN: Status("plugin regression", "bad", "cross"),
        Cause.INFRASTRUCTURE: Status("infrastructure", "warn", "alert"),
        Cause.CORE_DEFECT: Status("defect of PyTorch", "off", "known"),
        Cause.KNOWN: Status("known", "off", "known"),
        Cause.FLAKY: Status("flaky", "warn", "wave"),
        Cause.UNKNOWN: Status("cause unclear", "warn", "silent"),
    }
)

EFFECTS: Mapping[EffectName, Status] = MappingProxyType(
    {
        EffectName.NEWLY_BROKEN: Status("newly broken", "bad", "cross"),
        EffectName.INFRA: Status("infrastructure", "warn", "alert"),
        EffectName.NO_DATA: Status("no data", "warn", "silent"),
        EffectName.UNREADABLE: Status("report unreadable", "warn", "silent"),
        EffectName.BROKEN_BEFORE: Status("broken before", "off", "cross"),
        EffectName.NOT_WORSE: Status("not worse", "good", "check"),
    }
)
"""What a pull request does to a device."""

NOT_KEPT = Status("not kept", "off", "gap")
"""Verdicts are kept for the newest nights only; earlier reports are on the runs' pages."""

_ALL: tuple[Mapping[Any, Status], ...] = (VERDICTS, OUTCOMES, KNOWN, CLAIMS, STAGES, REPORTS, CHANGES, CAUSES)
_BY_TYPE = {type(next(iter(looks))): looks for looks in _ALL}


def shown(state: Enum | None) -> Status:
    """How a state is shown, whatever it is a state of; None is a verdict that is not kept."""
    return _BY_TYPE[type(state)][state] if state is not None else NOT_KEPT


def rank(state: Enum) -> int:
    """The place of a state in the order in which its kind is shown."""
    return list(_BY_TYPE[type(state)]).index(state)


def urgency(tier: Tier | None, verdict: VerdictName | None) -> tuple[int, int]:
    """The place of a device in a list: by tier, then what needs a person first; what is not known comes last."""
    tiers = list(Tier)
    return tiers.index(tier) if tier else len(tiers), rank(verdict) if verdict else len(VERDICTS)


def outcomes(counts: Counts, *left_out: OutcomeName) -> str:
    """How many tests have which outcome: ``3 failed, 1 skipped``."""
    found = [(OUTCOMES[name].word, getattr(counts, name.value)) for name in OutcomeName if name not in left_out]
    return ", ".join(f"{count} {word}" for word, count in found if count)


def works(item: CapabilityCounts) -> Status:
    """The state of a capability by its tests."""
    counts = item.counts
    not_run = f"{counts.not_run} not run" if counts.executed else "not run"
    return {
        CapabilityState.WORKS: Status("works", "good", "check"),
        CapabilityState.XFAILED: Status(f"{counts.xfailed} by a defect of PyTorch", "off", "known"),
        CapabilityState.PART: Status(f"part: {counts.passed} of {item.asked}", "warn", "minus"),
        CapabilityState.FAILING: Status(f"{counts.failures} failing", "bad", "cross"),
        CapabilityState.NOT_RUN: Status(not_run, "warn", "silent"),
        CapabilityState.UNSUPPORTED: Status("unsupported", "off", "never"),
        CapabilityState.SKIPPED: Status(f"{counts.skipped} of {counts.total} skipped", "off", "minus"),
    }[item.state]


def verdict_of_each(registry: Sequence[RegisteredDevice], verdicts: Verdicts) -> dict[str, DeviceVerdict]:
    """What the judge found of every registered device, by name and in the order of the registry."""
    found = {item.device: item for item in verdicts.devices}
    # The placeholder for a device whose file is newer than the verdicts.
    reason = "registered after these verdicts were made; the next nightly judges it"
    return {
        name: found.get(name) or DeviceVerdict(device=name, verdict=VerdictName.NEVER_RAN, reason=reason)
        for name in (item.device.name for item in registry)
    }
