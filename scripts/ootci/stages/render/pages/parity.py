"""Which of PyTorch's own tests pass on which device: the heat map of all devices, and each device's own page."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import date, timedelta

from ootci.history.parity import Parity, ParityNight, rows_of
from ootci.history.stored import StoredRun
from ootci.model.device import UPSTREAM
from ootci.model.outcome import AS_THEY_SHOULD, OutcomeName, file_of
from ootci.model.plan import Plan
from ootci.model.record import Record

from ..chart import Chart, Series, chart, from_lowest
from ..links import device_path, parity_path
from ..page_maker import PageMaker
from ..places import Places
from ..publish import File
from ..trend_series import DAYS, number
from .published import Compact, WithPage, api_file

WEEK = timedelta(days=7)
FILES = 1_000
"""Files of a page and of a file of the API; PyTorch has a few hundred."""
REGRESSED = 100
"""Regressions that a page names; the others are counted."""
_TOP = "../../"

ParityNights = Sequence[tuple[Plan, StoredRun, ParityNight]]


class ParityDay(Record):
    """One night."""

    day: date
    """The day, in UTC."""
    plan_id: str
    """The nightly."""
    counts: Parity
    """PyTorch's own tests on that night."""


class ParityClass(Record):
    """A class of tests."""

    name: str
    """Its name."""
    counts: Parity
    """Its tests."""


class ParityTests(Record):
    """A file of PyTorch's tests."""

    file: str
    """The file, from PyTorch's folder `test`."""
    counts: Parity
    """Its tests."""
    classes: tuple[ParityClass, ...]
    """Its classes, by name. The import of the file counts as one of its tests, and is in none of them."""


class DeviceParityFile(WithPage, Compact):
    """parity/<device>.json: which of PyTorch's own tests pass on a device."""

    device: str
    """Name of the device."""
    torch: str | None
    """The version of the torch that was tested; null when it is not known."""
    week: ParityDay | None
    """The night that the newest one is compared with: at least a week older, and less than two weeks, and reported
    completely, as the newest is; null where there is none."""
    nights: tuple[ParityDay, ...]
    """The nights of the last three months, oldest first, the newest included."""
    regressed: tuple[str, ...]
    """Tests that fail and pass on this device; the first hundred by name."""
    files: tuple[ParityTests, ...]
    """The files of the newest night, by name."""

    @property
    def newest(self) -> Parity:
        """The newest night's numbers."""
        return self.nights[-1].counts

    @property
    def change(self) -> int | None:
        """How many more tests pass than a week before; None where nobody knows."""
        return self.newest.passed - self.week.counts.passed if self.week is not None else None

    @property
    def worst_first(self) -> list[ParityTests]:
        """The files: those with a regression first, and then those of which most tests do not pass."""
        return sorted(
            self.files, key=lambda item: (-item.counts.regressed, item.counts.passed - item.counts.asked, item.file)
        )


class ParityCell(Record):
    """A file of PyTorch's tests on one device."""

    passed: int
    """As in the device's own file."""
    asked: int
    """As in the device's own file."""
    regressed: int
    """As in the device's own file."""

    @property
    def heat(self) -> int:
        """From 0, where nothing passed, to 10, where everything did."""
        return 10 * self.passed // self.asked if self.asked else 0


class ParityRow(Record):
    """A file of PyTorch's tests on every device."""

    file: str
    """The file, from PyTorch's folder `test`."""
    cells: tuple[ParityCell | None, ...]
    """For each device of `devices`; null where it does not run the file."""


class DeviceParity(Record):
    """A device that runs PyTorch's own tests."""

    device: str
    """Name of the device."""
    page: str
    """Address of its page for people."""
    path: str
    """Address of its own file."""
    torch: str | None
    """The version of the torch that was tested; null when it is not known."""
    day: date
    """The newest night on which it ran them, in UTC."""
    counts: Parity
    """PyTorch's own tests on that night."""
    week_before: int | None
    """How many passed a week before; null where nobody knows."""
    week_day: date | None
    """That night, in UTC: where a night is missing, it is more than a week before."""


class ParityFile(WithPage, Compact):
    """parity.json: which of PyTorch's own tests pass on which device."""

    devices: tuple[DeviceParity, ...]
    """The devices that run them, what needs a person first, within a tier."""
    files: tuple[ParityRow, ...]
    """The files that any of them runs, by name."""
    more: int
    """How many files were left out because there were too many."""


def device_parity(device: str, nights: ParityNights) -> DeviceParityFile | None:
    """What a device's nights, oldest first, say of PyTorch's own tests; None where it does not run them.

    On a night on which it broke before them, or was tested on another torch, the night before that still counts.
    """
    channel = next((run.head.channel for _, run, _ in reversed(nights) if run.head.channel is not None), None)
    told = [item for item in nights if item[2].parity.asked and item[1].head.channel is channel]
    if not told or all(report.suite != UPSTREAM for report in nights[-1][1].head.suites):
        return None
    plan, run, night = told[-1]
    days = [
        ParityDay(day=then.created_at.date(), plan_id=then.id, counts=found.parity)
        for then, _, found in told
        if plan.created_at - then.created_at < timedelta(days=DAYS)
    ]
    whole = {then.id for then, of_then, _ in told if UPSTREAM in of_then.head.complete_suites}
    regressed = sorted(run.ids(night.regressed))
    return DeviceParityFile(
        device=device,
        page=f"{_TOP}../{parity_path(device)}",
        torch=run.head.torch.version if run.head.torch is not None else None,
        week=_week_before(days, whole),
        nights=tuple(days),
        regressed=tuple(regressed[:REGRESSED]),
        files=tuple(_files(run, night))[:FILES],
    )


def _week_before(days: Sequence[ParityDay], whole: Container[str]) -> ParityDay | None:
    """The night that the newest one is compared with; one that was cut off has fewer passed tests for that alone."""
    newest = days[-1]
    if newest.plan_id not in whole:
        return None
    earlier = (item for item in reversed(days) if WEEK <= newest.day - item.day < 2 * WEEK)
    return next((item for item in earlier if item.plan_id in whole), None)


def parity_page(
    maker: PageMaker, order: Sequence[str], found: Mapping[str, DeviceParityFile], places: Places
) -> Iterator[File]:
    """The page of all devices, that of each device, and their files.

    Args:
        order: the names of all devices, in the order of the front page.
        found: by device that runs PyTorch's own tests, what its nights say.
        places: where each test's nights are shown.

    """
    devices = [found[name] for name in order if name in found]
    by_file: dict[str, list[ParityCell | None]] = {}
    for column, item in enumerate(devices):
        for tests in item.files:
            counts = tests.counts
            cells = by_file.setdefault(tests.file, [None] * len(devices))
            cells[column] = ParityCell(passed=counts.passed, asked=counts.asked, regressed=counts.regressed)
    rows = [ParityRow(file=name, cells=tuple(by_file[name])) for name in sorted(by_file)]
    file = ParityFile(
        page=f"{_TOP}{parity_path()}",
        devices=tuple(_device(item) for item in devices),
        files=tuple(rows[:FILES]),
        more=len(rows[FILES:]),
    )
    yield maker.show(parity_path(), "parity.html", page=file)
    yield api_file("parity.json", file)
    for item in devices:
        values = {"chart": _chart(item.nights), "places": places, "parent": device_path(item.device)}
        yield maker.show(parity_path(item.device), "device_parity.html", page=item, **values)
        yield api_file(f"parity/{item.device}.json", item)


def _device(file: DeviceParityFile) -> DeviceParity:
    return DeviceParity(
        device=file.device,
        page=f"{_TOP}{parity_path(file.device)}",
        path=f"parity/{file.device}.json",
        torch=file.torch,
        day=file.nights[-1].day,
        counts=file.newest,
        week_before=file.week.counts.passed if file.week is not None else None,
        week_day=file.week.day if file.week is not None else None,
    )


def _files(run: StoredRun, night: ParityNight) -> Iterator[ParityTests]:
    """The files of a run, by name, each with its classes."""
    kinds = {row: kind for kind in ("regressed", "sometimes", "not_yet") for row in getattr(night, kind)}
    found: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows_of(run):
        test = run.tests[row]
        name, outcome = test.id.partition("::")[2].rpartition("::")[0], run.outcome(row)
        counts = found.setdefault(file_of(test.id, test.suite), {}).setdefault(name, dict.fromkeys(_COUNTED, 0))
        counts["left_out" if outcome is OutcomeName.SKIPPED else "asked"] += 1
        if outcome in AS_THEY_SHOULD:
            counts["passed"] += 1
        elif row in kinds:
            counts[kinds[row]] += 1
    for file, classes in sorted(found.items()):
        total = {name: sum(counts[name] for counts in classes.values()) for name in _COUNTED}
        yield ParityTests(
            file=file,
            counts=Parity(**total),
            # A test that is in no class tells whether its file can be imported.
            classes=tuple(ParityClass(name=name, counts=Parity(**classes[name])) for name in sorted(classes) if name),
        )


_COUNTED = tuple(Parity.model_fields)


def _chart(days: Sequence[ParityDay]) -> Chart | None:
    if len(days) < 2:
        return None
    by_day = {item.day: item.counts.passed for item in days}
    shown = [days[-1].day - timedelta(days=back) for back in reversed(range((days[-1].day - days[0].day).days + 1))]
    series = Series("Passed", "line", tuple(by_day.get(day) for day in shown))
    return chart((series,), from_lowest(series.known), number, [day.isoformat() for day in shown])
