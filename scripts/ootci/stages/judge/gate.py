"""May one merge?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ootci.model.cluster import Cluster
from ootci.model.device import RegisteredDevice
from ootci.model.verdict import AS_EXPECTED, NEW_FAILURES, Blocker, DeviceVerdict, Gate

NAMED = 5
"""Newly failing tests that the gate names of each device; the others are counted."""


def decide(
    registry: Sequence[RegisteredDevice],
    devices: Sequence[DeviceVerdict],
    clusters: Sequence[Cluster] = (),
    only: Collection[str] = (),
    *,
    alone: tuple[str, ...] = (),
) -> Gate:
    """Fails closed: whatever is not as expected on a gating device blocks, silence included.

    Args:
        registry: every registered device.
        devices: their verdicts.
        clusters: what fails, by what it says.
        only: these devices are asked for and no others, and each blocks whatever its tier is, also when it is paused.
        alone: of a run on somebody's own machine, the devices that it was of, where some were chosen: the gate says
            nothing of the others, of which such a run knows nothing.

    """
    gating = {item.device.name for item in registry if item.device.gates and item.device.paused is None}
    gating = set(only) or gating
    if alone and not only:
        return _of_these(registry, devices, clusters, gating, alone)
    blocking = [item for item in devices if item.device in gating and item.verdict not in AS_EXPECTED]
    if unknown := sorted(set(only) - {item.device for item in devices}):
        return Gate(may_merge=False, reason=f"nothing is known of {', '.join(unknown)}")
    if not gating:
        return Gate(may_merge=False, reason="no gating device is registered, so nothing speaks for merging")
    if not blocking:
        return Gate(may_merge=True, reason=f"{len(gating)} of {_asked(gating, only)} as expected")
    names = ", ".join(f"{item.device} ({item.verdict.value})" for item in blocking)
    advisory = {
        item.device.name: tuple(f"{suite.name}/" for suite in item.device.suites if not suite.required)
        for item in registry
    }
    return Gate(
        may_merge=False,
        blocking=tuple(item.device for item in blocking),
        blockers=tuple(_blocker(item, clusters, advisory[item.device]) for item in blocking),
        reason=f"{len(blocking)} of {_asked(gating, only)} not as expected: {names}",
    )


def _of_these(
    registry: Sequence[RegisteredDevice],
    devices: Sequence[DeviceVerdict],
    clusters: Sequence[Cluster],
    gating: Collection[str],
    alone: tuple[str, ...],
) -> Gate:
    """What a run of chosen devices on somebody's own machine says; without a gating device among them, nothing."""
    asked, silent = sorted(set(alone) & set(gating)), sorted(set(gating) - set(alone))
    run = f"this run on one machine was of {', '.join(alone)} alone"
    left = f"{', '.join(silent)} did not take part" if silent else ""
    if not asked:
        reason = f"{run}, which {'gates' if len(alone) == 1 else 'gate'} nothing" + (f"; {left}" if left else "")
        return Gate(may_merge=False, reason=reason, alone=alone)
    found = decide(registry, devices, clusters, asked)
    return found.model_copy(update={"alone": alone, "reason": f"{found.reason}; {run}" + (f": {left}" if left else "")})


def override(gate: Gate, overrides: Mapping[str, str]) -> Gate:
    """The gate with devices that shall not block, as somebody decided who gives a reason, by name."""
    overridden = {name: overrides[name] for name in gate.blocking if name in overrides}
    left = tuple(name for name in gate.blocking if name not in overridden)
    if not overridden:
        return gate
    return gate.model_copy(
        update={
            "may_merge": not left,
            "blocking": left,
            "blockers": tuple(item for item in gate.blockers if item.device in left),
            "overridden": overridden,
            "reason": f"{gate.reason}; overridden: {', '.join(sorted(overridden))}",
        }
    )


def names_of(count: int) -> str:
    """How many gating devices there are, in words."""
    return f"{count} gating device" if count == 1 else f"{count} gating devices"


def _asked(gating: Collection[str], only: Collection[str]) -> str:
    return names_of(len(gating)).replace("gating ", "") if only else names_of(len(gating))


def _blocker(item: DeviceVerdict, clusters: Sequence[Cluster], advisory: tuple[str, ...]) -> Blocker:
    parts = [
        (part, cluster) for cluster in clusters for part in cluster.devices if part.device == item.device and part.new
    ]
    largest = max(parts, key=lambda found: found[0].new, default=None)
    # What is counted in `new_failures` are the required suites' tests; an id begins with the name of its suite.
    new = [
        change.id
        for change in item.changes
        if change.change in NEW_FAILURES and not change.known and not change.id.startswith(advisory)
    ]
    return Blocker(
        device=item.device,
        verdict=item.verdict,
        reason=item.reason,
        broken_since=item.broken_since,
        is_new=item.is_new,
        new_failures=item.new_failures,
        is_first=item.is_first,
        first=tuple(new[:NAMED]),
        cause=largest[1].cause if largest else None,
        cause_reason=largest[1].reason if largest else None,
    )
