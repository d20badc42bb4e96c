"""What a suite needs to run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

CPUS = os.cpu_count() or 1
MAX_SPARES = 4
"""Each holds torch in memory: 340 MB with the suite ops on torch 2.13."""


@dataclass(frozen=True)
class SuiteRun:
    """What a suite needs to run.

    Attributes:
        suite: its name, a folder under ``suites``.
        variables: the whole environment of the process.
        events: event log to which its processes append.
        scratch: working directory, empty at first.
        suite_seconds: time-out of the suite.
        test_seconds: time-out of one test, and of collecting.
        options: further options of the suites, for each of its processes.
        choice: options that choose tests, for the process that collects the whole suite.
        attempt: which attempt of the tests it is.
        deaths_in_a_row: after so many the device is asked whether it still answers.
        spares: how many processes may stand by.
        poll_seconds: between two looks at the process.
        worker: which of the workers it is that run the suite side by side, from 1.
        copied_to: event log of the run, where ``events`` is the worker's own.

    """

    suite: str
    device: str
    python: str
    suites: Path
    variables: Mapping[str, str]
    events: Path
    logs: Path
    scratch: Path
    suite_seconds: float
    test_seconds: float
    options: tuple[str, ...] = ()
    choice: tuple[str, ...] = ()
    attempt: int = 1
    deaths_in_a_row: int = 20
    spares: int = min(CPUS, MAX_SPARES)
    poll_seconds: float = 0.1
    worker: int = 1
    copied_to: Path | None = None

    @property
    def name(self) -> str:
        """What its files in ``logs`` are called."""
        return self.suite if self.worker == 1 else f"{self.suite}.{self.worker}"

    def side_by_side(self, workers: int) -> tuple[SuiteRun, ...]:
        """The same suite, run by so many workers at once: each has a share of the tests, and files of its own."""
        if workers == 1:
            return (self,)
        # Each would start as many threads as there are CPUs.
        threads = {"OMP_NUM_THREADS": str(max(1, CPUS // workers))}
        return tuple(
            replace(
                self,
                variables={**threads, **self.variables},
                events=self.scratch / f"events.{worker}.jsonl",
                scratch=self.scratch / f"worker.{worker}",
                choice=(*self.choice, f"--shard={worker}/{workers}"),
                spares=self.spares // workers,
                poll_seconds=self.poll_seconds / workers,
                worker=worker,
                copied_to=self.events,
            )
            for worker in range(1, workers + 1)
        )
