"""A share of the tests: every test in exactly one, the same on every machine.

The tests of a file are dealt out in turn by their ids, because neighbors take about as long. A file's deal depends on
nothing else, so it is the same whichever other files are collected. Workers on one machine are given whole files of
PyTorch's tests, since importing and collecting them takes as long as running short ones.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import pytest

from harness.events import EventLog
from harness.options import usage_error
from harness.selection import describe

PLUGIN = "device-shares"
MAX_SHARDS = 1000


@dataclass(frozen=True)
class Shard:
    """One share of several; ``index`` counts from 1."""

    index: int
    count: int


def read_shard(text: str, option: str) -> Shard:
    """The share that is requested as ``1/4``.

    Raises:
        pytest.UsageError: the text is no such thing.

    """
    index, _, count = text.partition("/")
    shard = Shard(*(int(part) if part.isdecimal() and len(part) < 5 else 0 for part in (index, count)))
    if not 1 <= shard.index <= shard.count <= MAX_SHARDS:
        raise usage_error(
            f"no such share: {text}", f"the option {option}", "write I/N, such as 1/4 for the first of four"
        )
    return shard


def assign(ids: Iterable[str], count: int, workers: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Deal tests out.

    Args:
        ids: of the tests.
        count: number of shares.
        workers: the shares, from 1, that have the tests of a file; all of them where the file is not here.

    Returns:
        The share of every test.

    """
    files: dict[str, list[str]] = {}
    for test in sorted(ids):
        files.setdefault(_file_of(test), []).append(test)
    dealt = {}
    for file, tests in files.items():
        numbers, first = workers.get(file, range(1, count + 1)), crc32(file.encode())
        dealt.update({test: numbers[(first + place) % len(numbers)] for place, test in enumerate(tests)})
    return dealt


def deal(sizes: Mapping[str, int], count: int) -> dict[str, tuple[int, ...]]:
    """Deal whole files out to workers, the largest first, each to those that have least.

    Args:
        sizes: about how many tests each file has.
        count: number of workers.

    Returns:
        The workers of each file, from 1: several where it has more than a fair share.

    """
    total = sum(sizes.values())
    load = dict.fromkeys(range(1, count + 1), 0.0)
    dealt = {}
    for file, size in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
        workers = sorted(load, key=load.__getitem__)[: -(-size * count // total)]
        for worker in workers:
            load[worker] += size / len(workers)
        dealt[file] = tuple(sorted(workers))
    return dealt


def add_options(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("device suites")
    group.addoption("--shard", metavar="I/N", help="run the I-th of N shares of the tests, and tell of the others")
    group.addoption(
        "--worker",
        metavar="I/N",
        help="run what the I-th of N processes on one machine runs of these tests: whole files of PyTorch's own",
    )


class Shares:
    """The pytest plugin that keeps the tests of one share, and of it those of one worker.

    It tells the event log of all tests of the files that are collected, so that none is lost with another process.
    """

    def __init__(self, config: pytest.Config) -> None:
        asked = {option: config.getoption(option) for option in ("--shard", "--worker")}
        self._asked = {option: read_shard(text, option) for option, text in asked.items() if text is not None}
        self._events: Path | None = config.getoption("--events")
        self._workers: dict[str, tuple[int, ...]] = {}

    def files(self, sizes: Mapping[str, int]) -> Container[str]:
        """Deal files out to the workers, tell the event log, and return those that this one collects.

        Args:
            sizes: about how many tests each file has, by the part of their ids that names it.

        """
        worker = self._asked.get("--worker")
        if worker is None:
            return sizes
        self._workers = deal(sizes, worker.count)
        log = EventLog(self._events)
        log.write("dealt", files=self._workers)
        log.close()
        return {file for file, workers in self._workers.items() if worker.index in workers}

    # After the recorder has chosen the tests: shares are made of what is to be run.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Keep the share, and tell which tests belong to which."""
        if not self._asked:
            return
        if config.getoption("--ids-from") is not None:
            raise usage_error(
                "a share of named tests",
                f"the options {' and '.join(self._asked)} and --ids-from",
                "give one of the two: ids are a choice",
            )
        log = EventLog(self._events)
        for option, shard in self._asked.items():
            workers = self._workers if option == "--worker" else {}
            shards = assign([item.nodeid for item in items], shard.count, workers)
            # The others know nothing of a file that one worker runs alone.
            told = [item for item in items if workers.get(_file_of(item.nodeid)) != (shard.index,)]
            tests = [{**describe(item).record(), "shard": shards[item.nodeid]} for item in told]
            log.write_tests("shard", tests, index=shard.index, count=shard.count)
            others = [item for item in items if shards[item.nodeid] != shard.index]
            items[:] = [item for item in items if shards[item.nodeid] == shard.index]
            if others:
                config.hook.pytest_deselected(items=others)
        log.close()


def _file_of(test: str) -> str:
    return test.partition("::")[0]
