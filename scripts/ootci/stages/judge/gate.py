"""The gate's answer: yes, no or cannot_say; and how right its answers on past nightlies were."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ootci.model.build import StageName
from ootci.model.cluster import Cluster
from ootci.model.device import Device, RegisteredDevice, Tier
from ootci.model.plan import Plan
from ootci.model.verdict import AS_EXPECTED, NEW_FAILURES, Answer, Blocker, DeviceVerdict, Gate, GateRecord, VerdictName
from ootci.model.words import many

NAMED = 5
"""Newly failing tests that the gate names of each device; the others are counted."""

NO_RESULT = frozenset({VerdictName.PAUSED, VerdictName.NEVER_RAN, VerdictName.INFRA})
"""Verdicts without evidence about PyTorch."""
ONE_NIGHT = timedelta(hours=20)
"""The greatest age of a result of a device that the newest nightly did not test: after a run of one device by hand, the
others keep the results of the same day's nightly."""
VOUCHING = AS_EXPECTED | {VerdictName.UNSTABLE}
"""Verdicts that are a yes: a test that passed on retry, or is flaky by its record, blocks nothing."""


def decide(
    registry: Sequence[RegisteredDevice],
    devices: Sequence[DeviceVerdict],
    clusters: Sequence[Cluster] = (),
    *,
    planned_at: datetime | None,
    doubt: str | None = None,
    only: Collection[str] = (),
    alone: tuple[str, ...] = (),
    overrides: Mapping[str, str] | None = None,
    torch: str | None = None,
    predicted: Sequence[str] = (),
) -> Gate:
    """Whether one may merge, by the newest nightly.

    Args:
        clusters: the failures, grouped by error.
        planned_at: when the newest nightly was planned; None when there has been none.
        doubt: why the newest nightly cannot be trusted to be about tonight, where it cannot.
        only: these devices are requested and no others, whatever their tier is.
        alone: of a run on somebody's own machine, the devices that it was of, where some were chosen: the gate answers
            nothing of the others, of which such a run knows nothing.
        overrides: why a device shall not be asked, by name.
        torch: the version or commit of the torch that is asked about, or how it begins.
        predicted: devices for which a break is predicted; the answer names them and does not rest on them.

    """
    gating = _gating(registry)
    asked = sorted(only) or [name for name in gating if not alone or name in alone]
    judged = {item.device: item for item in devices}
    silent = {name: why for name in asked if (why := _no_result(judged.get(name), planned_at)) is not None}
    blocking = [judged[name] for name in asked if name not in silent and judged[name].verdict not in VOUCHING]
    wanted = {item.device for item in blocking} | silent.keys()
    overridden = {name: reason for name, reason in (overrides or {}).items() if name in wanted}
    asked = [name for name in asked if name not in overridden]
    silent = {name: why for name, why in silent.items() if name not in overridden}
    blocking = [item for item in blocking if item.device not in overridden]
    missing = None if only else silent_reference(registry, silent)
    results = [judged[name] for name in asked if name not in silent]
    answer = answer_of(len(asked), len(results), len(blocking), reference=missing is None)
    called = {item.device.name: item.device.display_name for item in registry}
    reason = _reason(results, blocking, silent, missing, called)
    doubt = "no nightly has run yet" if planned_at is None else doubt
    if said := doubt or _other_torch(results, torch, called):
        answer, reason = "cannot_say", said
    here = () if only else names_of(alone, called)
    not_here = names_of((name for name in gating if name not in alone), called)
    return Gate(
        answer=answer,
        reason=reason + _notes(here, not_here, names_of(sorted(overridden), called), names_of(predicted, called)),
        blocking=tuple(item.device for item in blocking),
        blockers=_blockers(registry, blocking, clusters),
        without_result=silent,
        doubt=doubt,
        overridden=overridden,
        predicted=tuple(predicted),
        alone=alone,
    )


def expected_to_gate(registry: Sequence[RegisteredDevice], gate: Gate, newest: Plan | None) -> tuple[str, ...]:
    """The gating devices that the newest nightly tests, or that have a result for it.

    Without one, for example because all are paused, the answer is cannot_say although nothing is wrong.
    """
    expected = {run.device for run in newest.runs} if newest else set()
    return tuple(name for name in _gating(registry) if name in expected or name not in gate.without_result)


def _gating(registry: Sequence[RegisteredDevice]) -> list[str]:
    return [item.device.name for item in registry if item.device.gates and item.device.paused is None]


def has_result(verdict: VerdictName, broke_at: str | None, run_id: str | None, *, fallback: bool) -> bool:
    """Whether a night of a device is evidence about PyTorch. A report without tests is: they were lost.

    A failed fetch does not, whatever its cause: nothing of PyTorch was tested.
    """
    if fallback or verdict in NO_RESULT or broke_at == StageName.FETCH:
        return False
    return verdict is not VerdictName.NO_DATA or run_id is not None


def _no_result(item: DeviceVerdict | None, planned_at: datetime | None) -> str | None:
    """Why a device has no result for the newest nightly; None where it has one."""
    if item is None:
        return "nothing is known of it"
    if item.is_fallback:
        said = item.torch_request.deviation if item.torch_request else None
        return f"tested on {said}" if said else "tested on another torch than requested"
    newest = item.history[-1] if item.history else None
    if newest is None or not has_result(item.verdict, item.broke_at, newest.run_id, fallback=newest.fallback):
        return item.reason
    if planned_at is not None and newest.date < planned_at - ONE_NIGHT:
        return f"not in the newest nightly, last in {newest.plan_id}"
    return None


def answer_of(asked: int, results: int, blocking: int, *, reference: bool) -> Answer:
    """The answer of a nightly without a doubt about its date or torch.

    Args:
        asked: how many devices are asked.
        results: how many of them have a result.
        blocking: how many of those are broken.
        reference: whether no reference device is without a result.

    """
    if not (reference and _are_enough(results, asked)):
        return "cannot_say"
    return "no" if blocking else "yes"


def _reason(
    results: Sequence[DeviceVerdict],
    blocking: Sequence[DeviceVerdict],
    silent: Mapping[str, str],
    missing: Device | None,
    called: Mapping[str, str],
) -> str:
    """The reason of the answer; ``called`` has display names by device."""
    asked, without = len(results) + len(silent), named(silent, called)
    if not asked:
        return "no device that gates merges was tested"
    if said := too_little(asked, silent, missing, called):
        return said
    if blocking:
        names = ", ".join(f"{called.get(item.device, item.device)} ({item.verdict.value})" for item in blocking)
        return f"blocked by {len(blocking)} of {many(asked, 'gating device')}: {names}{without}"
    unstable = sum(item.verdict is VerdictName.UNSTABLE for item in results)
    flaky = f", {unstable} of them with flaky tests" if unstable else ""
    return f"{len(results)} of {many(asked, 'gating device')} as expected{flaky}{without}"


def _other_torch(results: Sequence[DeviceVerdict], torch: str | None, called: Mapping[str, str]) -> str | None:
    """Why the results are not about the torch that is asked about; None where they are."""
    for item in results if torch else ():
        found = (item.torch.version, item.torch.git_version or "") if item.torch else ()
        if not any(text.startswith(torch or "") for text in found):
            tested = item.torch.version if item.torch else "none"
            name = called.get(item.device, item.device)
            return f"the newest nightly is of another torch than {torch}: {name} tested {tested}"
    return None


def _notes(alone: Sequence[str], silent: Sequence[str], overridden: Sequence[str], predicted: Sequence[str]) -> str:
    """Additions to the reason: which devices were chosen, not asked or not counted."""
    left = f", not {', '.join(silent)}" if silent else ""
    notes = {
        f"this run on one machine tested only {', '.join(alone)}{left}": alone,
        f"overridden: {', '.join(overridden)}": overridden,
        f"predicted to break, not counted: {', '.join(predicted)}": predicted,
    }
    return "".join(f"; {note}" for note, names in notes.items() if names)


def silent_reference(registry: Sequence[RegisteredDevice], silent: Mapping[str, str]) -> Device | None:
    """A reference device among those without a result, if there is one."""
    devices = (item.device for item in registry)
    return next((device for device in devices if device.tier is Tier.REFERENCE and device.name in silent), None)


def too_little(asked: int, silent: Mapping[str, str], missing: Device | None, called: Mapping[str, str]) -> str | None:
    """Why the answer is cannot_say; None where the reference and at least half of the devices have a result.

    Args:
        asked: how many devices are asked.
        silent: why some of them have no result, by name.
        missing: a reference device among those, if there is one.
        called: display names, by device.

    """
    if missing is not None:
        return f"the reference device {missing.display_name} has no result on this PyTorch: {silent[missing.name]}"
    results = asked - len(silent)
    if _are_enough(results, asked):
        return None
    count = f"{results} of" if results else "none of"
    return f"{count} {many(asked, 'gating device')} {'have' if results > 1 else 'has'} a result{named(silent, called)}"


def _are_enough(results: int, asked: int) -> bool:
    return bool(results) and 2 * results >= asked


def named(silent: Mapping[str, str], called: Mapping[str, str]) -> str:
    """The end of an answer's reason: each device without a result, by its display name, and why."""
    return "".join(f"; {called.get(name, name)}: {why}" for name, why in silent.items())


def names_of(devices: Iterable[str], called: Mapping[str, str]) -> list[str]:
    """Display names of devices; a device that is not registered keeps its key."""
    return [called.get(name, name) for name in devices]


def _blockers(
    registry: Sequence[RegisteredDevice], blocking: Sequence[DeviceVerdict], clusters: Sequence[Cluster]
) -> tuple[Blocker, ...]:
    advisory = {
        item.device.name: tuple(f"{suite.name}/" for suite in item.device.suites if not suite.required)
        for item in registry
    }
    return tuple(_blocker(item, clusters, advisory.get(item.device, ())) for item in blocking)


def _blocker(item: DeviceVerdict, clusters: Sequence[Cluster], advisory: tuple[str, ...]) -> Blocker:
    parts = [
        (part, cluster) for cluster in clusters for part in cluster.devices if part.device == item.device and part.new
    ]
    largest = max(parts, key=lambda found: found[0].new, default=None)
    # `new_failures` counts the required suites' tests; an id begins with the name of its suite.
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


@dataclass(frozen=True)
class Told:
    """A device's night, as the gate counts it.

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
