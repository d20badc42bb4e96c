"""The front page: may one merge, what is newly broken and whose, and the nights of every device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from ootci.model.cluster import EXCUSED, Cluster
from ootci.model.compat import DevicePrediction
from ootci.model.device import Device, RegisteredDevice
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import AS_EXPECTED, BROKEN, DeviceVerdict, Gate, VerdictName, Verdicts
from ootci.model.words import many

from .card import bisect_command, pytorch_issue
from .facts import TorchView, torch_view
from .nights import NightGrid, NightsOf, last_nightlies, night_grid, with_marks
from .publish import File
from .status import GATE, VERDICTS, Status, VerdictStatus, urgency, verdict_of_each
from .text import one_line
from .words import day

if TYPE_CHECKING:
    from .page_maker import PageMaker  # imports Jinja, which the step summary does without

SHOWN_CLUSTERS = 3
_OF_TESTS = (VerdictName.SMOKE_BROKEN, VerdictName.REGRESSED, VerdictName.FAILING)


@dataclass(frozen=True)
class DeviceRow:
    """One device; ``age`` is how old an external report was when it was imported."""

    device: Device
    verdict: DeviceVerdict
    torch: TorchView | None
    cluster: Cluster | None
    nights: NightsOf
    age: str | None
    predicted: DevicePrediction | None

    @property
    def status(self) -> VerdictStatus:
        """How its verdict is shown."""
        return VERDICTS[self.verdict.verdict]

    @property
    def is_predicted_to_break(self) -> bool:
        """Whether nothing is measured of it and a break is predicted."""
        paused = self.verdict.verdict is VerdictName.PAUSED
        return paused and self.predicted is not None and self.predicted.is_break

    @property
    def last_measured(self) -> str:
        """The last night with a report."""
        last = next((night for night in reversed(self.verdict.history) if night.run_id), None)
        return day(last.date) if last else "never"

    @property
    def said(self) -> str:
        """What broke: of tests what most of them fail with, else why it has its verdict."""
        if self.cluster is not None and self.verdict.verdict in _OF_TESTS:
            return self.cluster.text.replace("<device>", self.device.name)
        # These verdicts name the stage themselves.
        named = self.verdict.verdict in (VerdictName.BUILD_BROKEN, VerdictName.IMPORT_BROKEN)
        return self.verdict.reason.removeprefix(f"{self.verdict.broke_at}: " if named else "")

    @property
    def shared(self) -> str | None:
        """One text for all devices with the same error; None for a device that fails alone, or not at all."""
        return self.cluster.signature.id if self.cluster and len(self.cluster.devices) > 1 else None


@dataclass(frozen=True)
class Group:
    """Devices that need the same attention.

    Attributes:
        look: the CSS class that colours it, as in the grid.
        is_folded: whether only their names are shown until somebody opens it.
        runs: the devices; those that fail with the same error are together.

    """

    title: str
    look: str
    is_folded: bool
    runs: tuple[tuple[DeviceRow, ...], ...]

    @property
    def rows(self) -> tuple[DeviceRow, ...]:
        """Its devices."""
        return tuple(row for run in self.runs for row in run)


def front_page(maker: PageMaker, rows: Sequence[DeviceRow], grid: NightGrid, clusters: Sequence[Cluster]) -> File:
    """The front page; ``clusters`` are the failures that are new or probably PyTorch's, the latter first."""
    first = clusters[0] if clusters else None
    passed = [part.last_passed.date for part in first.devices if part.last_passed] if first else []
    return maker.show(
        "index.html",
        "front.html",
        headline=headline(maker.verdicts.gate, rows),
        blocked=blocked_by(maker.verdicts.gate, rows),
        clusters=clusters,
        shown_clusters=SHOWN_CLUSTERS,
        last_good=max(passed, default=None),
        bisect=bisect_command(first.devices) if first else None,
        issue=pytorch_issue(first, maker.canonical("")) if first else None,
        grid=grid,
        rows=rows,
        groups=groups_of(rows),
        fallbacks=fallbacks(rows),
    )


def headline(gate: Gate, rows: Sequence[DeviceRow]) -> Status:
    """The heading: whether one may merge, or, where no device gates, the result of the devices."""
    if not rows or any(row.device.gates for row in rows):
        return GATE[gate.answer]
    worst = min(rows, key=lambda row: urgency(None, row.verdict.verdict))
    tone, glyph = worst.status.tone, worst.status.glyph
    if len(rows) > 1:
        as_expected = sum(row.verdict.verdict in AS_EXPECTED and not row.verdict.is_fallback for row in rows)
        return Status(f"{as_expected} of {many(len(rows), 'device')} as expected", tone, glyph)
    word = worst.status.word if worst.status.word == "OK" else worst.status.word.lower()
    on = f" on {worst.torch.version}" if worst.verdict.is_fallback and worst.torch and worst.torch.version else ""
    return Status(f"{one_line(worst.device.display_name, 60)}: {word}{on}", tone, glyph)


def blocked_by(gate: Gate, rows: Sequence[DeviceRow]) -> dict[str, object] | None:
    """Why merges are held: the devices that block, and how many are asked; None where none does.

    Notes are further parts of the answer: devices without a result, those that do not count, those that were chosen.
    """
    by_name = {row.device.name: row for row in rows}
    blocking = [by_name[name] for name in gate.blocking if name in by_name]
    if gate.answer != "no" or len(blocking) != len(gate.blocking):
        return None
    names = {row.device.name: row.device.display_name for row in rows}
    asked = [row for row in rows if row.device.gates and row.verdict.verdict is not VerdictName.PAUSED]
    notes = {
        "No result": [f"{names.get(name, name)} ({why})" for name, why in gate.without_result.items()],
        "Overridden": [names.get(name, name) for name in gate.overridden],
        "Break predicted, not counted": [names.get(name, name) for name in gate.predicted],
        "Only these devices were run": [names.get(name, name) for name in gate.alone],
    }
    return {
        "rows": blocking,
        "all_new": all(row.verdict.is_new for row in blocking),
        "asked": sum(row.device.name not in gate.overridden for row in asked),
        "notes": [f"{title}: {', '.join(listed)}" for title, listed in notes.items() if listed],
    }


def front_grid(verdicts: Verdicts, builds: Mapping[str, TorchBuild]) -> NightGrid:
    """The columns of the nights; ``builds`` has the build of PyTorch of each nightly, where it is known."""
    return with_marks(night_grid(last_nightlies(verdicts), builds), verdicts.devices)


def main_clusters(verdicts: Verdicts) -> dict[str, Cluster]:
    """The cluster with most of what is new on each device, else with most of what breaks it, by device."""
    found: dict[str, tuple[tuple[int, int], Cluster]] = {}
    # Lost tests are in no cluster, but a suite that ended early is in one.
    lost = {item.device: item.broke_at for item in verdicts.devices if item.verdict is VerdictName.LOST_TESTS}
    for cluster in verdicts.clusters:
        for part in cluster.devices if cluster.cause not in EXCUSED else ():
            size = (part.new, part.tests)
            tells = part.device not in lost or lost[part.device] in part.first
            if tells and (part.device not in found or size > found[part.device][0]):
                found[part.device] = (size, cluster)
    return {device: cluster for device, (_, cluster) in found.items()}


def groups_of(rows: Sequence[DeviceRow]) -> tuple[Group, ...]:
    """The rows in the groups that there are, what needs somebody first."""

    def group(title: str, look: str, belongs: Callable[[DeviceRow], bool], *, is_folded: bool = False) -> Group:
        runs: dict[str, list[DeviceRow]] = {}
        for row in rows:
            if belongs(row):
                runs.setdefault(row.shared or f"only {row.device.name}", []).append(row)
        return Group(title, look, is_folded, tuple(map(tuple, runs.values())))

    def of(*names: VerdictName) -> Callable[[DeviceRow], bool]:
        return lambda row: row.verdict.verdict in names and not row.is_predicted_to_break

    as_expected = of(*AS_EXPECTED)
    groups = (
        group("Broke tonight", "new", lambda row: of(*BROKEN)(row) and row.verdict.is_new),
        group("Still broken", "failing", lambda row: of(*BROKEN)(row) and not row.verdict.is_new),
        group("Unstable", "flaky", of(VerdictName.UNSTABLE)),
        group("No result", "silent", of(VerdictName.NO_DATA, VerdictName.INFRA, VerdictName.NEVER_RAN)),
        group("Predicted to break while paused", "predicted", lambda row: row.is_predicted_to_break),
        group("Tested on another PyTorch", "silent", lambda row: as_expected(row) and row.verdict.is_fallback),
        group("As expected", "ok", lambda row: as_expected(row) and not row.verdict.is_fallback, is_folded=True),
        group("Paused", "idle", of(VerdictName.PAUSED), is_folded=True),
    )
    return tuple(group for group in groups if group.runs)


def in_order(registry: Sequence[RegisteredDevice], judged: Mapping[str, DeviceVerdict]) -> tuple[RegisteredDevice, ...]:
    """Registered devices by tier, then by severity, then as in the registry."""
    return tuple(sorted(registry, key=lambda item: urgency(item.device.tier, judged[item.device.name].verdict)))


def front_rows(
    registry: Sequence[RegisteredDevice],
    verdicts: Verdicts,
    grid: NightGrid,
    pages: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    ages: Mapping[str, str] = MappingProxyType({}),
) -> tuple[DeviceRow, ...]:
    """Every device, by tier, then by severity; one that the judge does not know yet is shown as never having run.

    Args:
        pages: the page of each run, from the top, by device and nightly.
        ages: how old each external report was when it was imported, by device.

    """
    judged, clusters = verdict_of_each(registry, verdicts), main_clusters(verdicts)
    found = ((item.device, judged[item.device.name]) for item in in_order(registry, judged))
    return tuple(
        DeviceRow(
            device=device,
            verdict=verdict,
            torch=torch_view(verdict.torch_request, verdict.torch) if verdict.torch_request else None,
            cluster=clusters.get(device.name) if verdict.verdict in BROKEN else None,
            nights=grid.row(verdict, grid.linked(pages.get(device.name, {})), device.bad_ranges),
            age=ages.get(device.name),
            predicted=verdicts.predicted.of(device.name) if verdicts.predicted else None,
        )
        for device, verdict in found
    )


def fallbacks(rows: Iterable[DeviceRow]) -> dict[str, list[DeviceRow]]:
    """What was tested on another torch than the nightly: a sentence, and the devices that share it."""
    found: dict[str, list[DeviceRow]] = {}
    for row in rows:
        if row.torch is not None and row.torch.fallback is not None:
            found.setdefault(one_line(row.torch.fallback), []).append(row)
    return found
