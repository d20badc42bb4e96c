"""How right the gate was: its answers on past nightlies, and whether what it said no for was seen again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.model.device import RegisteredDevice, Tier
from ootci.model.plan import Plan
from ootci.model.verdict import GateRecord

from .gate import answer_of


@dataclass(frozen=True)
class Told:
    """What a night of a device told the gate.

    Attributes:
        blocks: whether the device was broken.
        is_fresh: whether something failed that did not fail on the night before.
        seen_again: whether something failed that was fresh on the night before.
        torch: the commit of the torch that was tested; None where it is not known.

    """

    blocks: bool
    is_fresh: bool
    seen_again: bool
    torch: str | None


def gate_record(
    registry: Sequence[RegisteredDevice], plans: Sequence[Plan], told: Mapping[str, Mapping[str, Told]]
) -> GateRecord:
    """The gate's record.

    Args:
        registry: every registered device; those that gate today are asked.
        plans: every nightly, oldest first.
        told: of each device, by nightly, its nights with a result.

    """
    gating = {item.device.name: item for item in registry if item.device.gates and item.device.paused is None}
    counts = {"yes": 0, "no": 0, "cannot_say": 0}
    alarms: list[list[tuple[Told, Told | None]]] = []
    for place, plan in enumerate(plans):
        asked = [name for name in gating if plan.expected(name) is not None]
        results = {name: told[name][plan.id] for name in asked if plan.id in told.get(name, {})}
        missing = [name for name in asked if name not in results and gating[name].device.tier is Tier.REFERENCE]
        blocking = [name for name, found in results.items() if found.blocks]
        if not asked:
            continue
        answer = answer_of(len(asked), len(results), len(blocking), reference=not missing)
        counts[answer] += 1
        if answer == "no":
            fresh = [name for name in blocking if results[name].is_fresh]
            alarms.append([(results[name], _next(told[name], plans, place)) for name in fresh])
    raised = [alarm for alarm in alarms if alarm]
    seen = [[(now, after) for now, after in alarm if after is not None] for alarm in raised]
    repeated = sum(any(after.seen_again for _, after in alarm) for alarm in seen)
    over = [alarm for alarm in seen if alarm and not any(after.seen_again for _, after in alarm)]
    return GateRecord(
        nights=sum(counts.values()),
        **counts,
        alarms=len(raised),
        repeated=repeated,
        not_repeated=len(over),
        false_alarms=sum(all(now.torch is not None and now.torch == after.torch for now, after in it) for it in over),
    )


def _next(told: Mapping[str, Told], plans: Sequence[Plan], place: int) -> Told | None:
    return next((told[plan.id] for plan in plans[place + 1 :] if plan.id in told), None)
