"""The days of a device as series of values, ready to be drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ootci.history.trends import Measured, Tests, TrendDay

from .chart import LARGE, Axis, Chart, Series, Size, chart, from_zero


class TrendSeries:
    """The days of a device, oldest first."""

    def __init__(self, days: Sequence[TrendDay]) -> None:
        self._days = days
        self.names = [item.day.isoformat() for item in days]
        self._hatched = [place for place, item in enumerate(days) if item.bad is not None]
        self._marks = [place for place, item in enumerate(days) if item.collected_before is not None]

    def of_tests(self, name: str, value: Callable[[Tests], float], look: str = "line") -> Series:
        """A series of what the tests say."""
        return Series(name, look, tuple(value(item.tests) if item.tests else None for item in self._days))

    def of_runs(self, name: str, value: Callable[[Measured], float | None]) -> Series:
        """A series of what the runs say."""
        return Series(name, "line", tuple(value(item.measured) if item.measured else None for item in self._days))

    def chart(
        self,
        series: Series,
        *more: Series,
        words: Callable[[float], str],
        axis: Callable[[Sequence[float]], Axis] = from_zero,
        size: Size = LARGE,
    ) -> Chart | None:
        """A chart of series that share an axis; None when there is no value."""
        every = (series, *more)
        values = [value for item in every for value in item.known]
        if not series.known:
            return None
        return chart(every, axis(values), words, self.names, self._hatched, self._marks, size)


def number(value: float) -> str:
    """A whole number: ``1,204``."""
    return f"{value:,.0f}"
