"""The parameters of a suite's run, and its end."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ootci.model.build import Build
from ootci.model.device import UPSTREAM, RegisteredDevice
from ootci.model.event import CollectedTest
from ootci.model.outcome import FAILURES, OutcomeName, file_of
from ootci.model.torch_build import full_commit
from ootci.model.workspace import Workspace

CPUS = os.cpu_count() or 1
MAX_SPARES = 4
"""Each holds torch in memory: 340 MB with the suite ops on torch 2.13."""
COLLECT_SECONDS = 600.0
"""Time-out of collecting a suite, or one file of PyTorch's tests: the largest has half of them."""


@dataclass(frozen=True)
class SuiteRun:
    """The parameters of a suite's run.

    Attributes:
        suite: its name, a folder under ``suites``.
        variables: the whole environment of the process.
        events: event log to which its processes append.
        scratch: working directory, empty at first.
        suite_seconds: time-out of the suite.
        test_seconds: time-out of one test.
        collect_seconds: time-out of collecting the tests; in the suite upstream, of importing and collecting one file.
        options: further options of the suites, for each of its processes.
        choice: options that choose tests, for the process that collects the whole suite.
        attempt: which attempt of the tests it is.
        deaths_in_a_row: crashes in a row after which the device is probed.
        spares: how many spare processes may wait.
        poll_seconds: between two polls of the process.
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
    collect_seconds: float = COLLECT_SECONDS
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
        """The name of its files in ``logs``."""
        return self.suite if self.worker == 1 else f"{self.suite}.{self.worker}"

    def side_by_side(self, workers: int) -> tuple[SuiteRun, ...]:
        """The same suite, run by so many workers at once: each runs a part of the tests and writes its own files."""
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
                choice=(*self.choice, f"--worker={worker}/{workers}"),
                spares=self.spares // workers,
                poll_seconds=self.poll_seconds / workers,
                worker=worker,
                copied_to=self.events,
            )
            for worker in range(1, workers + 1)
        )


def narrowed(suite: str, tests: Iterable[str] | None, left_out: Collection[str] = ()) -> Sequence[str]:
    """Options with which only the files are imported that are needed.

    Args:
        suite: other suites need no such option.
        tests: those that are to be run; None for the whole suite.
        left_out: files that the whole suite is collected without.

    """
    if suite != UPSTREAM:
        return ()
    if tests is not None:
        return (f"--upstream-files={','.join(dict.fromkeys(file_of(test, UPSTREAM) for test in tests))}",)
    return (f"--upstream-skip={','.join(sorted(left_out))}",) if left_out else ()


def suite_options(item: RegisteredDevice, build: Build, workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """The options that depend on paths, by suite; for a vendor's suite its whole command."""
    places = {"{device}": item.device.torch_name, "{plugin}": str(workspace.plugin_sources(item).resolve())}
    found = {}
    for suite in item.device.suites:
        command = suite.command or ()
        for name, value in places.items():
            command = tuple(word.replace(name, value) for word in command)
        if command:
            found[suite.name] = command
    commit = full_commit(build.torch.git_version if build.torch else None)
    if commit is not None:
        tests = workspace.upstream(commit) / "test"
        found[UPSTREAM] = (f"--upstream-tests={tests.resolve()}",)
    return found


@dataclass(frozen=True)
class SuiteEnd:
    """How a suite ended, or one worker's share of it.

    Attributes:
        collected: its tests by id, in order.
        ended: their outcomes, by id.
        orderly: whether pytest itself reported its end.
        reason: one line, when it did not run to its end in an orderly way.
        timed_out: whether the suite's own time was up.
        tail: the end of the last process's output.
        log: name of the log of that process.
        before_death: of each test during which the process died, the tests that the process had run before it.

    """

    collected: Mapping[str, CollectedTest]
    ended: Mapping[str, OutcomeName]
    orderly: bool
    reason: str | None
    timed_out: bool
    tail: str
    log: str
    before_death: Mapping[str, tuple[str, ...]]

    @property
    def failed(self) -> tuple[str, ...]:
        """The failed tests, in order."""
        return tuple(test for test, outcome in self.ended.items() if outcome in FAILURES)


def joined(ends: Sequence[SuiteEnd]) -> SuiteEnd:
    """How a suite ended that several workers ran in shares; the first share that failed gives the reason."""
    worst = next((end for end in ends if end.timed_out), next((end for end in ends if end.reason is not None), ends[0]))
    return replace(
        worst,
        collected={test: item for end in ends for test, item in end.collected.items()},
        ended={test: outcome for end in ends for test, outcome in end.ended.items()},
        before_death={test: before for end in ends for test, before in end.before_death.items()},
    )
