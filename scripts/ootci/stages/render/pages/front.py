"""The front page: may one merge, what is newly broken and whose, and the nights of every device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from ootci.model.build import AnyStage
from ootci.model.cluster import Cause, Cluster
from ootci.model.compat import DevicePrediction, Forecast
from ootci.model.device import Device, RegisteredDevice
from ootci.model.outcome import Counts, PassRate
from ootci.model.record import Time
from ootci.model.torch_build import TorchBuild, TorchRequest
from ootci.model.verdict import AS_EXPECTED, BROKEN, DeviceVerdict, Gate, VerdictName, Verdicts
from ootci.model.words import many

from ..card import bisect_command, main_clusters, pytorch_issue
from ..facts import torch_view
from ..nights import NightGrid, NightsOf, last_nightlies, night_grid, with_marks
from ..publish import File
from ..status import GATE, VERDICTS, Status, urgency, verdict_of_each
from ..text import one_line
from .published import OfNewest, RegisteredEntry, WithPage, api_file

if TYPE_CHECKING:
    from ..page_maker import PageMaker  # imports Jinja, which the step summary does without

SHOWN_CLUSTERS = 3
_OF_TESTS = (VerdictName.SMOKE_BROKEN, VerdictName.REGRESSED, VerdictName.FAILING)
_UP = "../../"


class DeviceEntry(RegisteredEntry):
    """One device as the front page shows it."""

    verdict: VerdictName
    """The verdict."""
    reason: str
    """One sentence."""
    what: str
    """What broke: of tests what most of them fail with, else why the device has its verdict."""
    verdict_since: Time | None
    """When the verdict began; null where that is not known."""
    broken_since: Time | None
    """The first night of the broken streak that lasts, whatever verdicts it had; null when the device is not broken."""
    nights: int
    """How many nights in a row it has had this verdict."""
    is_new: bool
    """Whether it broke on the newest nightly, and has reported before."""
    is_first: bool
    """Whether nothing was reported before that its run could be compared with, so that what fails is no news."""
    broke_at: AnyStage | None
    """The stage where it broke; null when no stage did."""
    cluster: str | None
    """Id of the signature of the failures that most of what broke is part of, in clusters.json; null where none is."""
    cause: Cause | None
    """Their likely cause."""
    run_id: str | None
    """The run that the verdict was derived from; null when nothing was reported."""
    reported_at: Time | None
    """When that run finished."""
    last_measured: Time | None
    """The last nightly with a report; null when there was none."""
    age: str | None
    """How old the report was when it was received, of a device that is run elsewhere; else null."""
    counts: Counts
    """Tests of the required suites by outcome."""
    pass_rate: PassRate
    """How many of them passed of those that were executed."""
    new_failures: int
    """Tests that fail now, did not fail in the run before, and are not known failures."""
    known: int
    """Failing tests that the vendor knows of."""
    torch_request: TorchRequest | None
    """The torch requested and the torch tested."""
    torch: TorchBuild | None
    """The torch that was installed."""
    is_fallback: bool
    """Whether another torch replaced the requested one on the newest night."""
    predicted: Forecast | None
    """What is predicted for the newest nightly from its public wheel, which is no verdict; null where nothing was."""
    run_page: str | None
    """Address of the permanent page of that run."""
    badge: str
    """Address of its badge as a picture."""
    badge_endpoint: str
    """Address of its badge in the form of shields.io."""
    feed: str
    """Address of its Atom feed."""

    @property
    def since(self) -> datetime | None:
        """The date that is shown: since when it is broken, else since when it has its verdict."""
        return self.broken_since or self.verdict_since

    @property
    def is_predicted_to_break(self) -> bool:
        """Whether nothing is measured of it and a break is predicted."""
        return self.verdict is VerdictName.PAUSED and self.predicted is Forecast.BREAK


_OF_THE_VERDICT = DeviceEntry.model_fields.keys() & {*DeviceVerdict.model_fields, "is_fallback"} - {"device"}


class DevicesFile(WithPage, OfNewest):
    """devices.json: every registered device."""

    devices: tuple[DeviceEntry, ...]
    """One per device file, in registry order; a device that never reported is here too."""


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
    runs: tuple[tuple[DeviceEntry, ...], ...]

    @property
    def rows(self) -> tuple[DeviceEntry, ...]:
        """Its devices."""
        return tuple(row for run in self.runs for row in run)


def front_page(
    maker: PageMaker,
    file: DevicesFile,
    grid: NightGrid,
    nights: Mapping[str, NightsOf],
    clusters: Sequence[Cluster],
    more_clusters: int = 0,
) -> Iterator[File]:
    """The front page and its file.

    Args:
        nights: the nights of each device, in the columns of the grid.
        clusters: the failures that are new or probably PyTorch's, the latter first.
        more_clusters: how many there are besides, which have no page.

    """
    first = clusters[0] if clusters else None
    passed = [part.last_passed.date for part in first.devices if part.last_passed] if first else []
    rows = by_urgency(file.devices)
    yield maker.show(
        "index.html",
        "front.html",
        page=file,
        headline=headline(maker.verdicts.gate, rows),
        blocked=blocked_by(maker.verdicts.gate, rows),
        clusters=clusters,
        shown_clusters=SHOWN_CLUSTERS,
        more_clusters=more_clusters,
        last_good=max(passed, default=None),
        bisect=bisect_command(first.devices) if first else None,
        issue=pytorch_issue(first, maker.canonical("")) if first else None,
        grid=grid,
        nights=nights,
        rows=rows,
        groups=groups_of(rows),
        fallbacks=fallbacks(rows),
    )
    yield api_file("devices.json", file)


def headline(gate: Gate, rows: Sequence[DeviceEntry]) -> Status:
    """The heading: whether one may merge, or, where no device gates, the result of the devices."""
    if not rows or any(row.gates for row in rows):
        return GATE[gate.answer]
    worst = min(rows, key=lambda row: urgency(None, row.verdict))
    status = VERDICTS[worst.verdict]
    if len(rows) > 1:
        as_expected = sum(row.verdict in AS_EXPECTED and not row.is_fallback for row in rows)
        return Status(f"{as_expected} of {many(len(rows), 'device')} as expected", status.tone, status.glyph)
    word = status.word if status.word == "OK" else status.word.lower()
    torch = torch_view(worst.torch_request, worst.torch).version if worst.is_fallback and worst.torch_request else None
    on = f" on {torch}" if torch else ""
    return Status(f"{one_line(worst.display_name, 60)}: {word}{on}", status.tone, status.glyph)


def blocked_by(gate: Gate, rows: Sequence[DeviceEntry]) -> dict[str, object] | None:
    """Why merges are held: the devices that block, and how many are asked; None where none does.

    Notes are further parts of the answer: devices without a result, those that do not count, those that were chosen.
    """
    by_name = {row.device: row for row in rows}
    blocking = [by_name[name] for name in gate.blocking if name in by_name]
    if gate.answer != "no" or len(blocking) != len(gate.blocking):
        return None
    names = {row.device: row.display_name for row in rows}
    asked = [row for row in rows if row.gates and row.verdict is not VerdictName.PAUSED]
    notes = {
        "No result": [f"{names.get(name, name)} ({why})" for name, why in gate.without_result.items()],
        "Overridden": [names.get(name, name) for name in gate.overridden],
        "Break predicted, not counted": [names.get(name, name) for name in gate.predicted],
        "Only these devices were run": [names.get(name, name) for name in gate.alone],
    }
    return {
        "rows": blocking,
        "all_new": all(row.is_new for row in blocking),
        "asked": sum(row.device not in gate.overridden for row in asked),
        "notes": [f"{title}: {', '.join(listed)}" for title, listed in notes.items() if listed],
    }


def front_grid(verdicts: Verdicts, builds: Mapping[str, TorchBuild]) -> NightGrid:
    """The columns of the nights; ``builds`` has the build of PyTorch of each nightly, where it is known."""
    return with_marks(night_grid(last_nightlies(verdicts), builds), verdicts.devices)


def nights_of_each(
    registry: Sequence[RegisteredDevice],
    judged: Mapping[str, DeviceVerdict],
    grid: NightGrid,
    pages: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
) -> dict[str, NightsOf]:
    """The nights of every device in the columns of a grid; ``pages`` are as for :func:`devices_file`."""
    devices = (item.device for item in registry)
    return {
        device.name: grid.row(judged[device.name], grid.linked(pages.get(device.name, {})), device.bad_ranges)
        for device in devices
    }


def groups_of(rows: Sequence[DeviceEntry]) -> tuple[Group, ...]:
    """The rows in the groups that there are, what needs somebody first."""

    def group(title: str, look: str, belongs: Callable[[DeviceEntry], bool], *, is_folded: bool = False) -> Group:
        runs: dict[str, list[DeviceEntry]] = {}
        for row in rows:
            if belongs(row):
                runs.setdefault(row.cluster or f"only {row.device}", []).append(row)
        return Group(title, look, is_folded, tuple(map(tuple, runs.values())))

    def of(*names: VerdictName) -> Callable[[DeviceEntry], bool]:
        return lambda row: row.verdict in names and not row.is_predicted_to_break

    as_expected = of(*AS_EXPECTED)
    groups = (
        group("Broke tonight", "new", lambda row: of(*BROKEN)(row) and row.is_new),
        group("Still broken", "failing", lambda row: of(*BROKEN)(row) and not row.is_new),
        group("Unstable", "flaky", of(VerdictName.UNSTABLE)),
        group("No result", "silent", of(VerdictName.NO_DATA, VerdictName.INFRA, VerdictName.NEVER_RAN)),
        group("Predicted to break while paused", "predicted", lambda row: row.is_predicted_to_break),
        group("Tested on another PyTorch", "silent", lambda row: as_expected(row) and row.is_fallback),
        group("As expected", "ok", lambda row: as_expected(row) and not row.is_fallback, is_folded=True),
        group("Paused", "idle", of(VerdictName.PAUSED), is_folded=True),
    )
    return tuple(group for group in groups if group.runs)


def by_urgency(devices: Iterable[DeviceEntry]) -> tuple[DeviceEntry, ...]:
    """Devices by tier, then by severity, then as they are."""
    return tuple(sorted(devices, key=lambda row: urgency(row.tier, row.verdict)))


def devices_file(
    registry: Sequence[RegisteredDevice],
    verdicts: Verdicts,
    pages: Mapping[str, Mapping[str, str]] = MappingProxyType({}),
    ages: Mapping[str, str] = MappingProxyType({}),
) -> DevicesFile:
    """Every device; one that the judge does not know yet is shown as never having run.

    Args:
        pages: the page of each run, from the top, by device and nightly.
        ages: how old each external report was when it was imported, by device.

    """
    judged, clusters = verdict_of_each(registry, verdicts), main_clusters(verdicts)
    return DevicesFile(
        **OfNewest.of(verdicts),
        page=f"{_UP}index.html",
        devices=tuple(
            _entry(
                item.device,
                verdict,
                clusters.get(name),
                pages.get(name, {}),
                age=ages.get(name),
                predicted=verdicts.predicted.of(name) if verdicts.predicted else None,
            )
            for item, (name, verdict) in zip(registry, judged.items(), strict=True)
        ),
    )


def _entry(
    device: Device,
    verdict: DeviceVerdict,
    cluster: Cluster | None,
    pages: Mapping[str, str],
    *,
    age: str | None,
    predicted: DevicePrediction | None,
) -> DeviceEntry:
    name = device.name
    cluster = cluster if verdict.verdict in BROKEN else None
    judged = next((night for night in reversed(verdict.history) if night.run_id == verdict.run_id), None)
    measured = next((night for night in reversed(verdict.history) if night.run_id), None)
    path = pages.get(judged.plan_id) if judged is not None and verdict.run_id is not None else None
    return DeviceEntry(
        **RegisteredEntry.of(device),
        **{key: getattr(verdict, key) for key in _OF_THE_VERDICT},
        what=_what(verdict, cluster),
        cluster=cluster.signature.id if cluster else None,
        cause=cluster.cause if cluster else None,
        last_measured=measured.date if measured else None,
        age=age,
        predicted=predicted.nightly.forecast if predicted else None,
        run_page=f"{_UP}{path}" if path else None,
        badge=f"{_UP}badge/{name}.svg",
        badge_endpoint=f"{_UP}badge/{name}.json",
        feed=f"{_UP}d/{name}/feed.xml",
    )


def _what(verdict: DeviceVerdict, cluster: Cluster | None) -> str:
    if cluster is not None and verdict.verdict in _OF_TESTS:
        return cluster.text.replace("<device>", verdict.device)
    # These verdicts name the stage themselves.
    named = verdict.verdict in (VerdictName.BUILD_BROKEN, VerdictName.IMPORT_BROKEN)
    return verdict.reason.removeprefix(f"{verdict.broke_at}: " if named else "")


def fallbacks(rows: Iterable[DeviceEntry]) -> dict[str, list[DeviceEntry]]:
    """What was tested on another torch than the nightly: a sentence, and the devices that share it."""
    found: dict[str, list[DeviceEntry]] = {}
    for row in rows:
        text = torch_view(row.torch_request, row.torch).fallback if row.torch_request else None
        if text is not None:
            found.setdefault(one_line(text), []).append(row)
    return found
