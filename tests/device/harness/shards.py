"""A share of the tests: every test in exactly one, the same on every machine.

Tests are dealt out in turn by their ids, because neighbours take about as long. Nothing depends on the order of
collection.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.events import EventLog
from harness.options import usage_error
from harness.selection import describe

MAX_SHARDS = 1000


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


def assign(ids: Iterable[str], count: int) -> dict[str, int]:
    """The shard of every test, from 1 to ``count``."""
    return {test: index % count + 1 for index, test in enumerate(sorted(ids))}


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


class Shards:
    """The pytest plugin that keeps one share of the tests and tells the event log of all of them.

    Args:
        shards: the share, and of which share of all it is one, the largest first.
        events: the event log.

    """

    def __init__(self, shards: Sequence[Shard], events: Path | None) -> None:
        self._shards = shards
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
            shards = assign([item.nodeid for item in items], shard.count)
            tests = [{**describe(item).record(), "shard": shards[item.nodeid]} for item in items]
            log.write_tests("shard", tests, index=shard.index, count=shard.count)
            others = [item for item in items if shards[item.nodeid] != shard.index]
            items[:] = [item for item in items if shards[item.nodeid] == shard.index]
            if others:
                config.hook.pytest_deselected(items=others)
        log.close()
