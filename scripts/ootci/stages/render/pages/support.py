"""Which PyTorch each device works with: the nightly, and the releases that its file names in `torch.also`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Annotated

from pydantic import Field

from ootci.history.stored import StoredRun
from ootci.model.compat import DevicePrediction, Forecast
from ootci.model.device import Device
from ootci.model.record import Record, Time
from ootci.model.torch_build import Channel, minor_version
from ootci.model.verdict import AS_EXPECTED, BROKEN, DeviceVerdict, OtherTorchVerdict, VerdictName

from ..links import device_path, web_address
from ..page_maker import PageMaker
from ..publish import File
from ..text import one_line
from .published import Compact, WithPage, api_file

NIGHTLY = Channel.NIGHTLY.value
MEASURED = AS_EXPECTED | BROKEN | {VerdictName.UNSTABLE}
"""The verdicts that say how a device does on a torch; with any other one it was not tested."""
RELEASES = 2
"""Newest releases that have a column even where nothing was measured on them."""
_TOP = "../../"


class SupportCell(Record):
    """A device on a nightly, or on the releases of one minor version."""

    torch: str
    """`nightly`, or the minor version, such as `2.15`."""
    verdict: VerdictName | None = None
    """The verdict of its newest run, which is at most 36 hours old, or 8 days where it runs weekly; null where there is
    none."""
    version: str | None = None
    """The version of torch that was tested."""
    plugin: str | None = None
    """The version of the plugin."""
    suites: tuple[str, ...] = ()
    """The suites with a complete report, no lost test, and no failure that counts against the device."""
    since: Time | None = None
    """Since when it is as expected, or broken; null when that is not known."""
    forecast: Forecast | None = None
    """What is predicted from public wheels; only where nothing was measured."""
    why: str | None = None
    """The reason of the verdict or of the forecast; without either, why it was not tested."""
    fallback: Annotated[str | None, Field(exclude_if=lambda version: version is None)] = None
    """The version of torch that was tested instead of the nightly because that could not be downloaded. It has no
    verdict here: it is no result of the nightly. Absent elsewhere."""
    page: str | None = None
    """Address of the run's page."""


class DeviceSupport(Record):
    """A device on every torch of the table."""

    device: str
    """Name of the device."""
    page: str
    """Address of its page."""
    cells: tuple[SupportCell, ...]
    """One for each of `torches`."""


class SupportFile(WithPage, Compact):
    """support.json: which PyTorch each device works with."""

    torches: tuple[str, ...]
    """`nightly`, then minor versions of releases, newest first."""
    devices: tuple[DeviceSupport, ...]
    """What needs a person first, within a tier."""


def support_of(
    device: Device,
    verdict: DeviceVerdict,
    own: tuple[StoredRun, str] | None,
    others: Sequence[tuple[OtherTorchVerdict, StoredRun | None]],
    predicted: DevicePrediction | None,
) -> tuple[SupportCell, ...]:
    """What is known of a device on each torch: on the nightly, then on releases, newest first.

    Args:
        own: the run that its verdict was derived from, and the address of that run's page, from the top.
        others: its verdicts on other torches, each with its run.

    Runs are without the tests that are not counted against the device.

    """
    run, path = own or (None, None)
    tested = verdict.torch.version if verdict.torch else None
    wanted = device.torch.channel
    channel = run.head.channel if run is not None else wanted
    column = NIGHTLY if channel is Channel.NIGHTLY else _minor(tested) if channel is Channel.RELEASE else None
    cells = [_cell(column, device, verdict, run, f"{_TOP}{path}")] if column else []
    if wanted is Channel.NIGHTLY and column != NIGHTLY and verdict.torch_request is not None:
        # A release that replaced the nightly, or that somebody requested, is no result of the nightly.
        why = verdict.torch_request.deviation or f"the newest run was on torch {tested}"
        cell = SupportCell(torch=NIGHTLY, why=one_line(why))
        if tested and path and verdict.verdict in MEASURED and verdict.torch_request.fallback_reason:
            cell = cell.model_copy(update={"fallback": one_line(tested, 60), "page": f"{_TOP}{path}"})
        cells.append(cell)
    for other, of_other in others:
        if column := _minor(other.torch):
            cells.append(_cell(column, device, other, of_other, web_address(of_other.head.url) if of_other else None))
    found: dict[str, SupportCell] = {}
    for cell in sorted(cells, key=lambda cell: cell.verdict is None):
        found.setdefault(cell.torch, cell)
    for item in reversed(predicted.predictions) if predicted else ():
        column = NIGHTLY if predicted and item is predicted.nightly else _minor(item.torch)
        is_measured = column in found and found[column].verdict is not None
        if column and not is_measured and item.forecast in (Forecast.BREAK, Forecast.NO_BREAK):
            # A fallback stays visible beside the prediction.
            known = found.get(column) or SupportCell(torch=column)
            found[column] = known.model_copy(update={"forecast": item.forecast, "why": one_line(item.why)})
    return tuple(sorted(found.values(), key=lambda cell: _order(cell.torch), reverse=True))


def _cell(
    column: str,
    device: Device,
    judged: DeviceVerdict | OtherTorchVerdict,
    tested: StoredRun | None,
    page: str | None,
) -> SupportCell:
    if judged.verdict not in MEASURED or tested is None:
        return SupportCell(torch=column, why=one_line(judged.reason))
    run = tested.head
    failed = {test.suite for test in tested.failures if not test.is_flaky} | {judged.broke_at}
    passed = run.complete_suites - failed
    return SupportCell(
        torch=column,
        verdict=judged.verdict,
        version=one_line(run.torch.version, 60) if run.torch else None,
        plugin=one_line(run.plugin.version, 60) if run.plugin and run.plugin.version else None,
        suites=tuple(suite.name for suite in device.suites if suite.name in passed),
        since=judged.since,
        why=one_line(judged.reason),
        page=page,
    )


def _minor(version: str | None) -> str | None:
    found = minor_version(version)
    return ".".join(map(str, found)) if found else None


def support_page(
    maker: PageMaker, devices: Sequence[str], support: Mapping[str, Sequence[SupportCell]]
) -> Iterator[File]:
    """The table and its file; ``devices`` are in the order of the front page."""
    found = {name: {cell.torch: cell for cell in cells} for name, cells in support.items()}
    known = sorted({column for cells in found.values() for column in cells} - {NIGHTLY}, key=_order, reverse=True)
    measured = {cell.torch for cells in support.values() for cell in cells if cell.verdict}
    torches = (NIGHTLY, *(column for column in known if column in measured or column in known[:RELEASES]))
    file = SupportFile(
        page=f"{_TOP}support/index.html",
        torches=torches,
        devices=tuple(
            DeviceSupport(
                device=name,
                page=f"{_TOP}{device_path(name)}",
                cells=tuple(found[name].get(column) or SupportCell(torch=column) for column in torches),
            )
            for name in devices
        ),
    )
    yield maker.show("support/index.html", "support.html", page=file)
    yield api_file("support.json", file)


def _order(column: str) -> tuple[float, ...]:
    return (inf,) if column == NIGHTLY else tuple(map(int, column.split(".")))
