"""The front page: is it alive, what is newly broken, may one merge, and a row for every device file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.model.device import RegisteredDevice, Tier
from ootci.model.outcome import Counts
from ootci.model.verdict import DeviceVerdict, Gate, VerdictName, Verdicts

from .facts import TorchView, torch_view
from .nights import Strip, last_nightlies, strip
from .status import GATE, SEVERITY, VERDICTS, WHERE, Status
from .text import one_line
from .words import day, many


@dataclass(frozen=True)
class DeviceRow:
    """One device of the table."""

    name: str
    display_name: str
    vendor: str
    tier: str
    gates: bool
    status: Status
    where: str | None
    stage: str | None
    reason: str
    new_failures: int
    is_first: bool
    counts: Counts
    torch: TorchView | None
    since: str | None
    nights: str | None
    seconds: float | None
    age: str | None
    """How old the report was when it was taken in, where the device is run elsewhere."""
    strip: Strip


@dataclass(frozen=True)
class Banner:
    """A fallback that several devices may share."""

    text: str
    devices: tuple[DeviceRow, ...]


@dataclass(frozen=True)
class FrontPage:
    """Everything that the front page shows.

    Attributes:
        lead: the sentence up to its first point: how many devices are as expected.
        rest: the other points; empty where there are none.
        gate: may one merge?

    """

    lead: str
    rest: str
    gate: Status
    rows: tuple[DeviceRow, ...]
    blocking: tuple[DeviceRow, ...]
    controls: tuple[DeviceRow, ...]
    fallbacks: tuple[Banner, ...]


def front_page(
    registry: Sequence[RegisteredDevice],
    verdicts: Verdicts,
    durations: Mapping[str, float],
    ages: Mapping[str, str] | None = None,
) -> FrontPage:
    """The front page.

    Args:
        registry: every registered device, in registry order.
        verdicts: what the judge found; a device that it does not know yet is shown as never having run.
        durations: seconds of the run that each device's verdict is about.
        ages: how old each report from elsewhere was when it was taken in, by device.

    """
    judged = verdict_of_each(registry, verdicts)
    nightlies = last_nightlies(verdicts)
    rows = [
        _row(item, judged[item.device.name], nightlies, durations, ages or {}) for item in in_order(registry, judged)
    ]
    blocking = set(verdicts.gate.blocking)
    lead, _, rest = one_line(verdicts.summary).partition(" · ")
    return FrontPage(
        lead=lead,
        rest=rest,
        gate=_gate(verdicts.gate),
        rows=tuple(rows),
        blocking=tuple(row for row in rows if row.name in blocking),
        controls=tuple(row for row in rows if row.tier == Tier.REFERENCE.value),
        fallbacks=_banners(rows),
    )


def _gate(gate: Gate) -> Status:
    return GATE[gate.answer]


def verdict_of_each(registry: Sequence[RegisteredDevice], verdicts: Verdicts) -> dict[str, DeviceVerdict]:
    """What the judge found of every registered device, by name and in the order of the registry."""
    found = {item.device: item for item in verdicts.devices}
    return {item.device.name: found.get(item.device.name) or _unjudged(item.device.name) for item in registry}


def _unjudged(device: str) -> DeviceVerdict:
    """What stands for a device whose file is newer than the verdicts: silence, and no invention."""
    return DeviceVerdict(
        device=device,
        verdict=VerdictName.NEVER_RAN,
        reason="registered after these verdicts were made; the next nightly judges it",
    )


def in_order(registry: Sequence[RegisteredDevice], judged: Mapping[str, DeviceVerdict]) -> tuple[RegisteredDevice, ...]:
    """Registered devices by tier, then by severity, then as in the registry."""
    tiers = list(Tier)

    def rank(item: RegisteredDevice) -> tuple[int, int]:
        return tiers.index(item.device.tier), SEVERITY.index(judged[item.device.name].verdict)

    return tuple(sorted(registry, key=rank))


def _row(
    item: RegisteredDevice,
    verdict: DeviceVerdict,
    nightlies: Sequence[str],
    durations: Mapping[str, float],
    ages: Mapping[str, str],
) -> DeviceRow:
    device = item.device
    where, stage = WHERE.get(verdict.verdict), verdict.broke_at
    return DeviceRow(
        name=device.name,
        display_name=one_line(device.display_name, 60),
        vendor=one_line(device.vendor, 60),
        tier=device.tier.value,
        gates=device.gates,
        status=VERDICTS[verdict.verdict],
        where=where,
        # The stage is a second word only where it says more than the first.
        stage=stage if where and stage and stage.upper() != where else None,
        reason=one_line(verdict.reason, 160),
        new_failures=verdict.new_failures,
        is_first=verdict.is_first,
        counts=verdict.counts,
        torch=torch_view(verdict.torch_request, verdict.torch) if verdict.torch_request else None,
        since=day(verdict.since) if verdict.since else None,
        nights=many(verdict.nights_since, "night") if verdict.nights_since else None,
        seconds=durations.get(device.name),
        age=ages.get(device.name),
        strip=strip(verdict, nightlies, device.bad_ranges),
    )


def _banners(rows: Sequence[DeviceRow]) -> tuple[Banner, ...]:
    by_text: dict[str, list[DeviceRow]] = {}
    for row in rows:
        if row.torch is not None and row.torch.fallback is not None:
            by_text.setdefault(one_line(row.torch.fallback), []).append(row)
    return tuple(Banner(text, tuple(devices)) for text, devices in by_text.items())
