"""The errors of operators' results on a device, in units in the last place, beside the CPU's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from ootci.history.accuracy import FACTOR, LEAST, NIGHTS, SAMPLE, AccuracyNight, Growth, growths
from ootci.model.accuracy import Accuracy, ulp
from ootci.model.record import Record

from ..links import ACCURACY, device_path
from ..page_maker import PageMaker
from ..publish import File
from .published import Compact, WithPage, api_file

ROWS = 500
"""Operators and dtypes of the page; the file has more."""
GROWN = 50
"""Errors that grew that the page names."""
ROWS_LIMIT = 10_000
"""Operators and dtypes of the file; the suite has about 2,000 with a floating or complex dtype."""
_TOP = "../../../"


class OperatorAccuracy(Record):
    """The errors of an operator in one dtype."""

    operator: str
    """Its name."""
    dtype: str
    """The dtype of the samples."""
    errors: Accuracy
    """The errors of its results."""
    growth: Growth | None
    """Since when the device's largest error is larger, and what it was; null where it did not grow."""


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
    def grown(self) -> list[OperatorAccuracy]:
        """Those whose error grew, the newest first."""
        found = [row for row in self.operators if row.growth is not None]
        return sorted(found, key=lambda row: row.growth.since if row.growth else date.min, reverse=True)


def accuracy_file(device: str, nights: Sequence[AccuracyNight], pages: Mapping[str, str]) -> DeviceAccuracyFile:
    """The errors of a device's results.

    Args:
        nights: its last nights on which they were measured, oldest first.
        pages: by nightly, the page of its run.

    """
    newest = nights[-1] if nights else None
    found = newest.errors if newest is not None else {}
    grown = growths(nights)
    rows = [
        OperatorAccuracy(operator=name, dtype=dtype, errors=errors, growth=grown.get((name, dtype)))
        for (name, dtype), errors in found.items()
    ]
    rows.sort(key=lambda row: (-row.errors.times_cpu, -ulp(row.errors.device_largest), row.operator, row.dtype))
    run_page = pages.get(newest.plan.id) if newest is not None else None
    return DeviceAccuracyFile(
        device=device,
        page=f"{_TOP}{device_path(device, ACCURACY)}",
        night=newest.plan.created_at.date() if newest is not None else None,
        run_page=f"{_TOP}{run_page}" if run_page else None,
        nights=len(nights),
        operators=tuple(rows[:ROWS_LIMIT]),
        more=len(rows[ROWS_LIMIT:]),
    )


def accuracy_page(maker: PageMaker, file: DeviceAccuracyFile) -> Iterator[File]:
    """The page of a device's errors, and its file."""
    rules = {"rows": ROWS, "named_grown": GROWN, "factor": FACTOR, "least": LEAST, "window": NIGHTS, "sample": SAMPLE}
    yield maker.show(device_path(file.device, ACCURACY), "device_accuracy.html", page=file, **rules)
    yield api_file(f"accuracy/{file.device}.json", file)
