"""A share of the tests: every test in exactly one, about the same time in each, the same on every machine.

Longest first, each test goes to the shard that it prefers, by a hash of its id, among those with room. Durations are
compared by classes a quarter apart, in whole numbers, so that what was measured a little differently moves no test, and
a test that changes its class moves few others. Where nothing was measured, tests are dealt out in turn by their ids,
because neighbours take about as long. Nothing depends on the order of collection or on a machine's arithmetic.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.events import EventLog
from harness.options import usage_error
from harness.selection import describe

MAX_BYTES = 8 * 1024 * 1024
MAX_SHARDS = 1000
SLACK = 20
"""A shard is full at a twentieth above its fair share."""


def _steps() -> tuple[int, ...]:
    steps = [4]
    while steps[-1] < 10**9:
        steps.append(steps[-1] * 5 // 4)
    return tuple(steps)


_STEPS = _steps()
"""Milliseconds at which a class begins, each a quarter above the one before."""


@dataclass(frozen=True)
class Shard:
    """One share of several; ``index`` counts from 1."""

    index: int
    count: int


def read_shard(text: str) -> Shard:
    """The share that is requested as ``1/4``.

    Raises:
        pytest.UsageError: the text is no such thing.

    """
    index, _, count = text.partition("/")
    shard = Shard(*(int(part) if part.isdecimal() and len(part) < 5 else 0 for part in (index, count)))
    if not 1 <= shard.index <= shard.count <= MAX_SHARDS:
        raise usage_error(
            f"no such shard: {text}", "the option --shard", "write I/N, such as 1/4 for the first of four"
        )
    return shard


def read_durations(path: Path | None) -> dict[str, float]:
    """Measured seconds by test id; none without a file.

    Raises:
        pytest.UsageError: the file cannot be read.

    """
    if path is None:
        return {}
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(MAX_BYTES + 1))
    except (OSError, ValueError, RecursionError) as error:
        raise usage_error(
            f"the durations cannot be read: {error}",
            f"the option --durations-from {path}",
            "give a JSON object of seconds by test id",
        ) from error
    items = found.items() if isinstance(found, dict) else ()
    return {key: float(value) for key, value in items if type(value) in (int, float) and 0 <= value < 1e6}


def assign(ids: Sequence[str], durations: Mapping[str, float], count: int) -> dict[str, int]:
    """The shard of every test, from 1 to ``count``. A test that was never measured counts as the median of the others.

    No shard gets more than its fair share and either a twentieth of that or its longest test, in rounded durations.
    """
    known = sorted(_class_of(durations[test]) for test in ids if test in durations)
    if not known:
        return {test: index % count + 1 for index, test in enumerate(sorted(set(ids)))}
    median = known[len(known) // 2]
    weights = {test: _class_of(durations[test]) if test in durations else median for test in ids}
    total = sum(weights.values())
    load = [0] * count
    shards: dict[str, int] = {}
    for test in sorted(weights, key=lambda test: (-weights[test], _hash(test))):
        preferred = sorted(range(count), key=lambda index: _hash(f"{index} {test}"))
        roomy = [i for i in preferred if (load[i] + weights[test]) * count * SLACK <= total * (SLACK + 1)]
        chosen = roomy[0] if roomy else min(preferred, key=lambda index: load[index])
        load[chosen] += weights[test]
        shards[test] = chosen + 1
    return shards


def _class_of(seconds: float) -> int:
    return _STEPS[max(bisect_right(_STEPS, int(seconds * 1000)) - 1, 0)]


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def add_options(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("device suites")
    group.addoption(
        "--shard",
        metavar="I/N",
        action="append",
        default=[],
        help="run the I-th of N shares of the tests, and tell of the others; given again, a share of that share",
    )
    group.addoption(
        "--durations-from",
        metavar="FILE",
        type=Path,
        help="measured seconds by test id, a JSON object: shares are made to last about equally long",
    )


class Shards:
    """The pytest plugin that keeps one share of the tests and tells the event log of all of them.

    Args:
        shards: the share, and of which share of all it is one, the largest first.
        durations: measured seconds by test id.
        events: the event log.

    """

    def __init__(self, shards: Sequence[Shard], durations: Mapping[str, float], events: Path | None) -> None:
        self._shards = shards
        self._durations = durations
        self._events = events

    # After the recorder has chosen the tests: shares are made of what is to be run.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the share, and tell which tests belong to which."""
        if config.getoption("--ids-from") is not None:
            raise usage_error(
                "a share of named tests", "the options --shard and --ids-from", "give one of the two: ids are a choice"
            )
        log = EventLog(self._events)
        for shard in self._shards:
            shards = assign([item.nodeid for item in items], self._durations, shard.count)
            tests = [{**describe(item).record(), "shard": shards[item.nodeid]} for item in items]
            log.write_tests("shard", tests, index=shard.index, count=shard.count)
            others = [item for item in items if shards[item.nodeid] != shard.index]
            items[:] = [item for item in items if shards[item.nodeid] == shard.index]
            if others:
                config.hook.pytest_deselected(items=others)
        log.close()
