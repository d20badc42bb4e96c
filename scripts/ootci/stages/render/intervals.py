"""Many nights as a picture of few bytes: a line for each row of nights on which the same came of a test.

Every kind of night has a height and a pattern of its own besides its tone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType

from .nights import CELL_WIDTH

GAP = 2
"""Between two nights."""


Intervals = tuple[int, list[tuple[str, str]]]
"""The width of a row of nights, and of each kind of night the classes that draw it, and the path."""

_DRAWN: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "f": ("bad full", 8),
        "a": ("warn tall", 10),
        "X": ("warn tall", 10),
        "n": ("warn bars", 10),
        "_": ("off bars", 10),
        "p": ("good low", 11),
        "x": ("good split", 11),
        "s": ("off thin", 15),
        "u": ("off thin", 15),
    }
)
"""The classes of a kind of night, and how deep the middle of its line lies. What is absent is not drawn."""
SIGNS: Mapping[str, str] = MappingProxyType(
    {
        "p": "passed",
        "f": "failed",
        "a": "flaky, or passed against expectation",
        "x": "failed as expected",
        "s": "skipped or unsupported",
        "n": "not run",
        "_": "no report",
    }
)
"""The words that explain each kind of night."""


@lru_cache(maxsize=2_000)
def intervals(nights: str) -> Intervals:
    """The picture of nights, a letter for each."""
    paths: dict[tuple[str, int], list[str]] = {}
    start = 0
    for letter, group in groupby(nights):
        count = len(list(group))
        drawn = _DRAWN.get(letter)
        if drawn is not None:
            line = f"M{start * CELL_WIDTH} {drawn[1]}h{count * CELL_WIDTH - GAP}"
            paths.setdefault(drawn, []).append(line)
        start += count
    return max(0, start * CELL_WIDTH - GAP), [(kind, "".join(lines)) for (kind, _), lines in sorted(paths.items())]
