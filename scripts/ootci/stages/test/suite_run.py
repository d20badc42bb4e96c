"""What a suite needs to run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MAX_SPARES = 4
"""Each holds torch in memory: 340 MB with the suite ops on torch 2.13."""


@dataclass(frozen=True)
class SuiteRun:
    """What a suite needs to run.

    Attributes:
        suite: its name, a folder under ``suites``.
        device: name of the device.
        python: the device environment's interpreter.
        suites: the suites folder.
        variables: the whole environment of the process.
        events: event log of the run.
        logs: folder of the logs.
        scratch: working directory, empty at first.
        suite_seconds: time-out of the suite.
        test_seconds: time-out of one test, and of collecting.
        options: further options of the suites, for each of its processes.
        choice: options that choose tests, for the process that collects the whole suite.
        attempt: which attempt of the tests it is.
        deaths_in_a_row: after so many the device is asked whether it still answers.
        spares: how many processes may stand by.

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
    spares: int = min(os.cpu_count() or 1, MAX_SPARES)
