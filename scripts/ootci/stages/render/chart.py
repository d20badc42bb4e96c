"""Values over days as a line of steps: a step is as wide as its day, and a day without a value is a gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import dropwhile, groupby, pairwise
from statistics import fmean, median_low

from ootci.model.words import many

MARGIN = 2
"""Room for the line's thickness above the highest value and below the lowest."""
HATCH = 6
"""Distance of the lines of a hatching."""
FORTNIGHT = 14
"""Days."""
MEAN_DAYS = 7
"""Days whose mean is drawn in place of values that jump."""
NOISE = 0.2
"""Values jump when they differ by so much of the height from day to day, on average."""

Words = Callable[[float], str]


@dataclass(frozen=True)
class Size:
    """How large a chart is before it is stretched: the width of a day, and the height of all."""

    day: int
    height: int


LARGE = Size(8, 64)
SMALL = Size(3, 22)
TINY = Size(2, 26)


@dataclass(frozen=True)
class Axis:
    """What the upper and the lower edge stand for."""

    low: float
    high: float

    def y(self, value: float, height: int) -> float:
        """How far down a value lies."""
        part = (value - self.low) / (self.high - self.low)
        return round(height - MARGIN - part * (height - 2 * MARGIN), 1)


@dataclass(frozen=True)
class Series:
    """A value, or none, for each day; ``look`` is a CSS class that draws their line apart from others."""

    name: str
    look: str
    values: tuple[float | None, ...]

    @property
    def begun(self) -> tuple[float | None, ...]:
        """The values from the first that there is, gaps included."""
        return tuple(dropwhile(lambda value: value is None, self.values))

    @property
    def known(self) -> list[float]:
        """The values that there are."""
        return [value for value in self.values if value is not None]

    @property
    def levels(self) -> list[float]:
        """The median of each fortnight, which does not follow the noise of single nights."""
        parts = (self.values[day : day + FORTNIGHT] for day in range(0, len(self.values), FORTNIGHT))
        known = ([value for value in part if value is not None] for part in parts)
        return [median_low(part) for part in known if part]

    @property
    def jumps(self) -> float:
        """By how much the value differs from day to day, on average."""
        return fmean(abs(after - before) for before, after in pairwise(self.known)) if len(self.known) > 1 else 0.0

    @property
    def means(self) -> tuple[float | None, ...]:
        """The mean of the days around each day; None where the day has no value."""
        reach = MEAN_DAYS // 2
        around = (self.values[max(0, day - reach) : day + reach + 1] for day in range(len(self.values)))
        return tuple(
            None if value is None else fmean(item for item in part if item is not None)
            for value, part in zip(self.values, around, strict=True)
        )


@dataclass(frozen=True)
class Chart:
    """One picture and the same in words.

    Attributes:
        width: its width, which may be stretched, as may its height.
        lines: of each series the CSS class and the path.
        hatching: lines over excluded days.
        marks: where the size of the suites changed.
        top: what the upper edge stands for.
        bottom: what the lower edge stands for.
        words: the same in words.
        is_flat: whether there is only one day with a value, or each day since the first one has the same value and
            nothing is marked: the picture would show no more than ``newest``.
        moves: the part of the height between the lowest and the highest level.
        known: how many days have a value.
        is_noisy: whether the line is a mean, and the values of single days are pale.
        day: the width of a day.
        values: where each day with a value begins, and its values in words; none in a small chart.

    """

    width: int
    height: int
    lines: tuple[tuple[str, str], ...]
    hatching: str
    marks: tuple[int, ...]
    top: str
    bottom: str
    newest: str
    words: str
    is_flat: bool
    moves: float
    known: int
    is_noisy: bool
    day: int
    values: tuple[tuple[int, str], ...]


def from_zero(values: Sequence[float]) -> Axis:
    """An axis that begins with zero."""
    return Axis(0.0, max(values) or 1.0)


def from_lowest(values: Sequence[float]) -> Axis:
    """An axis from the lowest value to the highest, and from zero where they are the same."""
    return Axis(min(values), max(values)) if min(values) < max(values) else from_zero(values)


def chart(
    series: Sequence[Series],
    axis: Axis,
    words: Words,
    days: Sequence[str],
    hatched: Sequence[int] = (),
    marks: Sequence[int] = (),
    size: Size = LARGE,
) -> Chart:
    """A chart of series that share an axis; at least one value must be known.

    Args:
        series: the values; the first series is the one that ``newest`` is about.
        words: how a value is written.
        hatched: positions of excluded days.
        marks: places of the days on which the size of the suites changed.

    """
    known = [place for place in range(len(days)) if any(item.values[place] is not None for item in series)]
    same = len({value for item in series for value in item.begun}) == 1
    levels = [level for item in series for level in item.levels]
    is_noisy = len(series) == 1 and series[0].jumps >= NOISE * (axis.high - axis.low)
    drawn = [(item.look, item.values) for item in series]
    if is_noisy:
        drawn = [("line", series[0].means), ("noise", series[0].values)]
    return Chart(
        width=size.day * len(days),
        height=size.height,
        lines=tuple((look, steps(values, axis, size)) for look, values in drawn),
        hatching="".join(_hatching(first, last, size) for first, last in _rows(sorted(hatched))),
        marks=tuple(size.day * place for place in marks),
        top=words(axis.high),
        bottom=words(axis.low) if axis.low else "0",
        newest=words(series[0].known[-1]),
        words=" ".join(_in_words(item, words, days) for item in series if item.known),
        is_flat=len(known) == 1 or (same and not (hatched or marks)),
        moves=(max(levels) - min(levels)) / (axis.high - axis.low),
        known=len(known),
        is_noisy=is_noisy,
        day=size.day,
        values=tuple((size.day * place, _of_day(series, place, words, days)) for place in known)
        if size != SMALL
        else (),
    )


def _of_day(series: Sequence[Series], place: int, words: Words, days: Sequence[str]) -> str:
    """The values of a day: ``2026-11-21: passed 69, executed 72``."""
    known = ((item.name.lower(), item.values[place]) for item in series)
    return f"{days[place]}: {', '.join(f'{name} {words(value)}' for name, value in known if value is not None)}"


def steps(values: Sequence[float | None], axis: Axis, size: Size) -> str:
    """The path of a line: as wide as its days, interrupted where there is no value."""
    path, place, before = [], 0, None
    for value, group in groupby(values):
        width = size.day * len(list(group))
        if value is not None:
            height = f"{axis.y(value, size.height):g}"
            path.append(f"M{place} {height}" if before is None else f"V{height}")
            path.append(f"h{width}")
        place, before = place + width, value
    return "".join(path)


def _rows(places: Sequence[int]) -> list[tuple[int, int]]:
    """Unbroken rows of places, each as its first and its last."""
    rows: list[tuple[int, int]] = []
    for place in places:
        if rows and rows[-1][1] == place - 1:
            rows[-1] = (rows[-1][0], place)
        else:
            rows.append((place, place))
    return rows


def _hatching(first: int, last: int, size: Size) -> str:
    """Slanting lines over some of the days, none of which leaves them."""
    path, left, width, height = [], size.day * first, size.day * (last - first + 1), size.height
    for offset in range(HATCH - height, width, HATCH):
        start, end = max(offset, 0), min(offset + height, width)
        path.append(f"M{left + start} {height - (start - offset)}L{left + end} {height - (end - offset)}")
    return "".join(path)


def _in_words(series: Series, words: Words, days: Sequence[str]) -> str:
    known = [(value, days[place]) for place, value in enumerate(series.values) if value is not None]
    low, high = min(known), max(known, key=lambda item: item[0])
    newest, day = known[-1]
    text = f"{series.name}: {words(newest)} on {day}"
    if low[0] == high[0]:
        return f"{text}, and the same on all of {many(len(known), 'day')} with a value."
    middle = words(median_low(value for value, _ in known))
    return (
        f"{text}; {many(len(known), 'day')} with a value, lowest {words(low[0])} on {low[1]}, "
        f"highest {words(high[0])} on {high[1]}, median {middle}."
    )
