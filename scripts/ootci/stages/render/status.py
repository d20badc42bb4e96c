"""How each verdict, outcome and stage status is shown: a glyph, a word and a tone, never a colour alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from ootci.model.build import StageStatus
from ootci.model.capability import CapabilityState
from ootci.model.cluster import Cause
from ootci.model.outcome import OutcomeName
from ootci.model.pull_request import EffectName
from ootci.model.run import CapabilityCounts
from ootci.model.verdict import Answer, ChangeName, ClaimState, KnownFailureState, VerdictName


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


VERDICTS: Mapping[VerdictName, Status] = MappingProxyType(
    {
        VerdictName.PAUSED: Status("PAUSED", "off", "pause"),
        VerdictName.NEVER_RAN: Status("NEVER RAN", "off", "never"),
        VerdictName.NO_DATA: Status("NO DATA", "warn", "silent"),
        VerdictName.INFRA: Status("INFRA", "warn", "alert"),
        VerdictName.BUILD_BROKEN: Status("BUILD BROKEN", "bad", "cross"),
        VerdictName.IMPORT_BROKEN: Status("IMPORT BROKEN", "bad", "cross"),
        VerdictName.SMOKE_BROKEN: Status("SMOKE BROKEN", "bad", "cross"),
        VerdictName.REGRESSED: Status("REGRESSED", "bad", "down"),
        VerdictName.LOST_TESTS: Status("LOST TESTS", "bad", "minus"),
        VerdictName.FAILING: Status("FAILING", "bad", "cross"),
        VerdictName.UNSTABLE: Status("UNSTABLE", "warn", "wave"),
        VerdictName.KNOWN: Status("KNOWN", "good", "known"),
        VerdictName.OK: Status("OK", "good", "check"),
    }
)

NIGHTS: Mapping[VerdictName, tuple[str, str | None]] = MappingProxyType(
    {
        VerdictName.PAUSED: ("idle", "pause"),
        VerdictName.NEVER_RAN: ("idle", "never"),
        VerdictName.NO_DATA: ("silent", "silent"),
        VerdictName.INFRA: ("silent", "alert"),
        VerdictName.BUILD_BROKEN: ("broken", "block"),
        VerdictName.IMPORT_BROKEN: ("broken", "block"),
        VerdictName.SMOKE_BROKEN: ("broken", "block"),
        VerdictName.REGRESSED: ("new", "down"),
        VerdictName.LOST_TESTS: ("lost", "minus"),
        VerdictName.FAILING: ("failing", "cross"),
        VerdictName.UNSTABLE: ("flaky", "wave"),
        VerdictName.KNOWN: ("known", "known"),
        VerdictName.OK: ("ok", None),
    }
)
"""A night in a grid: the CSS class that colours it, and the glyph that tells it from the others without colour."""

GATE: Mapping[Answer, Status] = MappingProxyType(
    {
        "yes": Status("Clear to merge", "good", "check"),
        "no": Status("Hold merges", "bad", "cross"),
        "cannot_say": Status("Cannot say", "off", "never"),
    }
)

WHERE: Mapping[VerdictName, str] = MappingProxyType(
    {
        VerdictName.NO_DATA: "NO DATA",
        VerdictName.INFRA: "INFRA",
        VerdictName.BUILD_BROKEN: "BUILD",
        VerdictName.IMPORT_BROKEN: "IMPORT",
        VerdictName.SMOKE_BROKEN: "SMOKE",
        VerdictName.REGRESSED: "TESTS",
        VerdictName.LOST_TESTS: "TESTS",
        VerdictName.FAILING: "TESTS",
        VerdictName.UNSTABLE: "TESTS",
    }
)
"""Where it broke, in one word; nothing broke where a verdict is not named."""

SEVERITY: tuple[VerdictName, ...] = (
    VerdictName.BUILD_BROKEN,
    VerdictName.IMPORT_BROKEN,
    VerdictName.SMOKE_BROKEN,
    VerdictName.REGRESSED,
    VerdictName.LOST_TESTS,
    VerdictName.FAILING,
    VerdictName.NO_DATA,
    VerdictName.INFRA,
    VerdictName.UNSTABLE,
    VerdictName.NEVER_RAN,
    VerdictName.KNOWN,
    VerdictName.OK,
    VerdictName.PAUSED,
)
"""The order of rows within a tier: what needs a person comes first."""

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
"""In the order in which they are shown: what asks for a change comes first."""

CLAIMS: Mapping[ClaimState, Status] = MappingProxyType(
    {
        ClaimState.WORKS: Status("works", "warn", "wave"),
        ClaimState.PARTLY: Status("works in part", "warn", "wave"),
        ClaimState.HOLDS: Status("unsupported", "off", "never"),
        ClaimState.UNSEEN: Status("not seen", "off", "never"),
    }
)
"""In the order in which they are shown: what asks for a change comes first."""

STAGES: Mapping[StageStatus, Status] = MappingProxyType(
    {
        StageStatus.PASSED: Status("passed", "good", "check"),
        StageStatus.FAILED: Status("failed", "bad", "cross"),
        StageStatus.CRASHED: Status("crashed", "bad", "alert"),
        StageStatus.TIMED_OUT: Status("timed out", "bad", "clock"),
        StageStatus.NOT_RUN: Status("not run", "off", "never"),
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
        Cause.PLUGIN: Status("its plugin", "bad", "cross"),
        Cause.INFRASTRUCTURE: Status("infrastructure", "warn", "alert"),
        Cause.CORE_DEFECT: Status("defect of PyTorch", "off", "known"),
        Cause.KNOWN: Status("known", "off", "known"),
        Cause.FLAKY: Status("flaky", "warn", "wave"),
        Cause.UNKNOWN: Status("cause not known", "warn", "silent"),
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
"""Verdicts are kept for the newest nights only; what was reported before stands on the runs' pages."""

_ALL: tuple[Mapping[Any, Status], ...] = (VERDICTS, OUTCOMES, KNOWN, CLAIMS, STAGES, CHANGES, CAUSES)
_BY_TYPE = {type(next(iter(looks))): looks for looks in _ALL}


def shown(state: Enum | None) -> Status:
    """How a state is shown, whatever it is a state of; None is a verdict that is not kept."""
    return _BY_TYPE[type(state)][state] if state is not None else NOT_KEPT


def rank(state: Enum) -> int:
    """The place of a state in the order in which its kind is shown."""
    return list(_BY_TYPE[type(state)]).index(state)


def works(item: CapabilityCounts) -> Status:
    """What the tests of a capability say together."""
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
