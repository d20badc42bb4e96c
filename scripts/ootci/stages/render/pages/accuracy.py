"""The errors of operators' results on a device, in units in the last place, beside the CPU's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from ootci.history.accuracy import (
    FACTOR,
    LEAST,
    NIGHTS,
    SAMPLE,
    AccuracyNight,
    AccuracyRegression,
    accuracy_regressions,
)
from ootci.model.accuracy import Accuracy, ulp
from ootci.model.record import Record

from ..links import ACCURACY, device_path
from ..page_maker import PageMaker
from ..publish import File
from .published import Compact, WithPage, api_file

WORST = 40
"""Rows of the page that are not folded, unless the errors of more are a multiple of the CPU's."""
ROWS = 500
"""Operators and dtypes of the page; the file has more."""
REGRESSIONS = 50
"""Accuracy regressions that a device's page lists."""
ROWS_LIMIT = 10_000
"""Operators and dtypes of the file; the suite has about 2,000 with a floating or complex dtype."""
RULE = {"factor": FACTOR, "least": LEAST, "sample": SAMPLE, "window": NIGHTS}
"""The numbers of the rule for accuracy regressions, as pages state it."""
_TOP = "../../"


class OperatorAccuracy(Record):
    """The errors of an operator in one dtype."""

    operator: str
    """Its name."""
    dtype: str
    """The dtype of the samples."""
    errors: Accuracy
    """The errors of its results."""
    regression: AccuracyRegression | None
    """Since when the device's largest error is a multiple of what it was; null where it is not."""


class DeviceAccuracyFile(WithPage, Compact):
    """accuracy/<device>.json: the errors of a device's results, on the newest night on which they were measured."""

    device: str
    """Name of the device."""
    night: date | None
    """That night, in UTC; null where no error was measured."""
    run_page: str | None
    """Address of the permanent page of its run; null where there is none."""
    nights: int
    """Nights that are compared, that one included."""
    operators: tuple[OperatorAccuracy, ...]
    """Those first whose largest error is most times the CPU's, then the largest errors."""
    more: int
    """How many were left out because there were too many."""

    @property
    def regressions(self) -> list[OperatorAccuracy]:
        """Those with an accuracy regression, the newest first."""
        found = [row for row in self.operators if row.regression is not None]
        return sorted(found, key=lambda row: row.regression.since if row.regression else date.min, reverse=True)

    @property
    def worst(self) -> OperatorAccuracy | None:
        """The one whose largest error is most times the CPU's; None where none is larger than the CPU's."""
        return next((row for row in self.operators[:1] if row.errors.times_cpu > 1), None)


class RegressionOn(Record):
    """An operator's accuracy regression on a device."""

    device: str
    """Name of the device."""
    largest: float | None
    """Its largest error on the newest night, in units in the last place; null for an infinity or NaN."""
    regression: AccuracyRegression
    """Since when it is a multiple of what it was."""


class OperatorRegression(Record):
    """An operator and dtype with an accuracy regression; on several devices in one night, PyTorch is suspected."""

    operator: str
    """Its name."""
    dtype: str
    """The dtype of the samples."""
    devices: tuple[RegressionOn, ...]
    """The devices with it, the newest regression first."""


class DeviceAccuracy(Record):
    """The errors of a device in short."""

    device: str
    """Name of the device."""
    page: str
    """Address of the page of its errors."""
    path: str
    """Address of their file."""
    night: date
    """The newest night on which they were measured, in UTC."""
    measured: int
    """Operators and dtypes whose errors were measured."""
    larger: int
    """Those of which the largest error is four times the CPU's or more."""
    regressions: int
    """Those with an accuracy regression."""
    worst: OperatorAccuracy | None
    """The one whose largest error is most times the CPU's; null where none is larger than the CPU's."""


class AccuracyFile(WithPage, Compact):
    """accuracy.json: the errors of all devices in short."""

    devices: tuple[DeviceAccuracy, ...]
    """In the order of the front page; those without measured errors are left out."""
    regressions: tuple[OperatorRegression, ...]
    """The accuracy regressions, those of most devices first."""
    more: int
    """How many were left out because there were too many."""


def accuracy_file(device: str, nights: Sequence[AccuracyNight], pages: Mapping[str, str]) -> DeviceAccuracyFile:
    """The errors of a device's results.

    Args:
        nights: its last nights on which they were measured, oldest first.
        pages: by nightly, the page of its run.

    """
    newest = nights[-1] if nights else None
    found = newest.errors if newest is not None else {}
    regressions = accuracy_regressions(nights)
    rows = [
        OperatorAccuracy(operator=name, dtype=dtype, errors=errors, regression=regressions.get((name, dtype)))
        for (name, dtype), errors in found.items()
    ]
    rows.sort(key=lambda row: (-row.errors.times_cpu, -ulp(row.errors.device_largest), row.operator, row.dtype))
    run_page = pages.get(newest.plan.id) if newest is not None else None
    return DeviceAccuracyFile(
        device=device,
        page=f"../{_TOP}{device_path(device, ACCURACY)}",
        night=newest.plan.created_at.date() if newest is not None else None,
        run_page=f"../{_TOP}{run_page}" if run_page else None,
        nights=len(nights),
        operators=tuple(rows[:ROWS_LIMIT]),
        more=len(rows[ROWS_LIMIT:]),
    )


@dataclass(frozen=True)
class DeviceErrors:
    """What the pages of all devices need of one: little, because a device has thousands of errors."""

    in_short: DeviceAccuracy
    regressions: tuple[OperatorAccuracy, ...]


def errors_in_short(file: DeviceAccuracyFile) -> DeviceErrors | None:
    """The errors of a device in short; None where none was measured."""
    if file.night is None:
        return None
    regressions = tuple(file.regressions)
    in_short = DeviceAccuracy(
        device=file.device,
        page=f"{_TOP}{device_path(file.device, ACCURACY)}",
        path=f"accuracy/{file.device}.json",
        night=file.night,
        measured=len(file.operators) + file.more,
        larger=sum(row.errors.times_cpu >= FACTOR for row in file.operators),
        regressions=len(regressions),
        worst=file.worst,
    )
    return DeviceErrors(in_short, regressions)


def operator_regressions(devices: Iterable[DeviceErrors]) -> list[OperatorRegression]:
    """The accuracy regressions, those of most devices first, then the newest."""
    found: dict[tuple[str, str], list[RegressionOn]] = {}
    for item in devices:
        for row in item.regressions:
            if row.regression is not None:
                on = RegressionOn(
                    device=item.in_short.device, largest=row.errors.device_largest, regression=row.regression
                )
                found.setdefault((row.operator, row.dtype), []).append(on)
    return _sorted(
        OperatorRegression(operator=name, dtype=dtype, devices=tuple(sorted(on, key=_newest_first)))
        for (name, dtype), on in found.items()
    )


def regressions_by_nightly(errors: Iterable[OperatorRegression]) -> dict[str, list[OperatorRegression]]:
    """By nightly, the accuracy regressions that began on it, each with those devices only, in the same order."""
    found: dict[str, list[OperatorRegression]] = {}
    for error in errors:
        for plan_id in {on.regression.plan_id for on in error.devices}:
            same = tuple(on for on in error.devices if on.regression.plan_id == plan_id)
            found.setdefault(plan_id, []).append(error.model_copy(update={"devices": same}))
    return {plan_id: _sorted(same) for plan_id, same in found.items()}


def _sorted(errors: Iterable[OperatorRegression]) -> list[OperatorRegression]:
    return sorted(
        errors, key=lambda item: (-len(item.devices), _newest_first(item.devices[0]), item.operator, item.dtype)
    )


def _newest_first(on: RegressionOn) -> tuple[int, str]:
    return -on.regression.since.toordinal(), on.device


def accuracy_page(
    maker: PageMaker, devices: Sequence[DeviceErrors], regressions: Sequence[OperatorRegression]
) -> Iterator[File]:
    """The page of all devices' errors, and its file; the devices are in the order of the front page."""
    file = AccuracyFile(
        page=f"{_TOP}accuracy/index.html",
        devices=tuple(item.in_short for item in devices),
        regressions=tuple(regressions[:ROWS]),
        more=len(regressions[ROWS:]),
    )
    yield maker.show("accuracy/index.html", "accuracy.html", page=file, rule=RULE)
    yield api_file("accuracy.json", file)


def device_accuracy_page(maker: PageMaker, file: DeviceAccuracyFile) -> Iterator[File]:
    """The page of a device's errors, and its file."""
    larger = sum(item.errors.times_cpu >= FACTOR for item in file.operators[:ROWS])
    rows = {"rows": ROWS, "worst": max(larger, WORST), "listed": REGRESSIONS}
    yield maker.show(device_path(file.device, ACCURACY), "device_accuracy.html", page=file, rule=RULE, **rows)
    yield api_file(f"accuracy/{file.device}.json", file)
