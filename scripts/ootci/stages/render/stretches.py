"""Many nights as a picture of few bytes: a line for each row of nights on which the same came of a test.

Every kind of night has a height and a pattern of its own besides its tone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from types import MappingProxyType

from ootci.history.not_passing import Came

from .nights import CELL_WIDTH

GAP = 2
"""Between two nights."""


@dataclass(frozen=True)
class Stretch:
    """All nights of one kind: the classes that draw them, and the path."""

    kind: str
    path: str


@dataclass(frozen=True)
class Stretches:
    """A row of nights."""

    width: int
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True)
class Sign:
    """A kind of night, and the words that explain it."""

    picture: Stretches
    words: str


_DRAWN: Mapping[Came, tuple[str, int]] = MappingProxyType(
    {
        Came.FAILED: ("bad full", 8),
        Came.FLAKY: ("warn tall", 10),
        Came.XPASSED: ("warn tall", 10),
        Came.NOT_RUN: ("warn bars", 10),
        Came.SILENT: ("off bars", 10),
        Came.PASSED: ("good low", 11),
        Came.XFAILED: ("good split", 11),
        Came.SKIPPED: ("off thin", 15),
        Came.UNSUPPORTED: ("off thin", 15),
    }
)
"""The classes of a kind of night, and how deep the middle of its line lies. What is absent is not drawn."""
_WORDS: Mapping[Came, str] = MappingProxyType(
    {
        Came.PASSED: "passed",
        Came.FAILED: "failed",
        Came.FLAKY: "flaky, or passed against expectation",
        Came.XFAILED: "failed as expected",
        Came.SKIPPED: "skipped or unsupported",
        Came.NOT_RUN: "not run",
        Came.SILENT: "no report",
    }
)


@lru_cache(maxsize=2_000)
def stretches(nights: bytes) -> Stretches:
    """The picture of nights, each one of ``Came``."""
    paths: dict[tuple[str, int], list[str]] = {}
    start = 0
    for came, group in groupby(nights):
        count = len(list(group))
        drawn = _DRAWN.get(Came(came))
        if drawn is not None:
            line = f"M{start * CELL_WIDTH} {drawn[1]}h{count * CELL_WIDTH - GAP}"
            paths.setdefault(drawn, []).append(line)
        start += count
    return Stretches(
        max(0, start * CELL_WIDTH - GAP),
        tuple(Stretch(kind, "".join(lines)) for (kind, _), lines in sorted(paths.items())),
    )


def signs() -> tuple[Sign, ...]:
    """Every kind of night with its words."""
    return tuple(Sign(stretches(bytes((came,))), words) for came, words in _WORDS.items())
