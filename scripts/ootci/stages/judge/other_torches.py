"""Results on the other torches that a device file names in `torch.also`, judged apart from nightlies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from ootci.history.store import History
from ootci.model.device import Device, on_other_torches
from ootci.model.plan import Plan
from ootci.model.torch_build import minor_version
from ootci.model.verdict import AS_EXPECTED, BROKEN, Night, OtherTorchVerdict, VerdictName

from .night import Judged
from .timeline import Timeline, today
from .witnesses import Witnesses


def on_torches(
    device: Device, plans: Sequence[Plan], history: History, witnesses: Witnesses, now: datetime
) -> Iterator[OtherTorchVerdict]:
    """The verdict of a device on each torch of its `torch.also`; ``plans`` are oldest first."""
    if not device.torch.also:
        return
    versions = {(plan.id, run.device): run.torch.version for plan in plans for run in plan.also}
    timelines: list[tuple[Timeline, Judged]] = []
    for other in on_other_torches(device):
        runs = history.stored_runs(other.name)
        timeline = Timeline(other.name, other.bad_ranges)
        timeline.go_on(plans, runs, witnesses)
        timelines.append((timeline, today(other, timeline, runs, now)))
    # The newest release becomes the previous one, so a version's nights are in both.
    nights = [
        (minor_version(versions.get((night.plan_id, timeline.device))), night)
        for timeline, _ in timelines
        for night in timeline.nights
    ]
    for timeline, judged in timelines:
        version = versions.get((timeline.nights[-1].plan_id, timeline.device)) if timeline.nights else None
        yield OtherTorchVerdict(
            device=device.name,
            run_as=timeline.device,
            torch=version,
            verdict=judged.verdict,
            reason=judged.reason,
            since=_since(judged.verdict, [night for minor, night in nights if minor == minor_version(version)]),
            broke_at=judged.broke_at,
            run_id=timeline.run.head.id if timeline.run else None,
        )


def _since(verdict: VerdictName, nights: Sequence[Night]) -> datetime | None:
    """The first of the newest nights that were as expected, or broken, as this verdict is; others tell nothing."""
    alike = next((kind for kind in (AS_EXPECTED, BROKEN) if verdict in kind), None)
    first = None
    for night in sorted(nights, key=lambda night: night.date, reverse=True):
        if alike is None or night.verdict in (AS_EXPECTED | BROKEN) - alike:
            break
        if night.verdict in alike:
            first = night.date
    return first
