"""What supervision costs: the same tests under plain pytest and under the supervisor with its event log, by turns.

Processor seconds are given beside those of the clock, because on a shared machine only they repeat.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from ootci.adapters.progress import Progress
from ootci.stages.test.suite_run import SuiteRun
from ootci.stages.test.supervisor import Supervisor, supervise

SUITES = Path(__file__).parents[2] / "device"
TURNS = 3
DEVICE = "openreg"
MEASURED = {"smoke": "smoke", "operators, float32 forward": "ops/test_forward.py"}
"""By name, a suite or one file of it."""


@dataclass(frozen=True)
class Cost:
    """Seconds of the clock and of the processors."""

    clock: float
    processor: float


def _cost(work: Callable[[], None]) -> Cost:
    began, before = time.perf_counter(), _processor()
    work()
    return Cost(time.perf_counter() - began, _processor() - before)


def _processor() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def _plain(python: Path, place: str, variables: Mapping[str, str]) -> None:
    command = [str(python), "-m", "pytest", "-q", place, "--device", DEVICE]
    done = subprocess.run(command, cwd=SUITES, env=dict(variables), capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def _tests(python: Path, place: str, variables: Mapping[str, str]) -> list[str]:
    command = [str(python), "-m", "pytest", "-q", "--collect-only", place, "--device", DEVICE]
    done = subprocess.run(command, cwd=SUITES, env=dict(variables), capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def _supervised(python: Path, tests: list[str], variables: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = SuiteRun(
            suite=tests[0].partition("/")[0],
            device=DEVICE,
            python=str(python),
            suites=SUITES,
            variables=variables,
            events=Path(folder) / "events.jsonl",
            logs=Path(folder),
            scratch=Path(folder),
            suite_seconds=3600,
            test_seconds=300,
        )
        end = supervise([Supervisor(run, clock=_now, only=tests)], Progress(quiet=True))
    if end.reason is not None or len(end.ended) != len(tests):
        sys.exit(f"{run.suite} did not run to its end under supervision: {end.reason}")


def _now() -> datetime:
    return datetime.now(timezone.utc)


def rows(python: Path) -> dict[str, dict[str, float]]:
    """Medians over some turns: by name, seconds under plain pytest and supervised, and their ratio."""
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    found = {}
    for name, place in MEASURED.items():
        tests = _tests(python, place, variables)
        seen: dict[str, list[Cost]] = {"plain": [], "supervised": []}
        for _ in range(TURNS):
            seen["plain"].append(_cost(lambda place=place: _plain(python, place, variables)))  # type: ignore[misc]
            seen["supervised"].append(
                _cost(lambda tests=tests: _supervised(python, tests, variables))  # type: ignore[misc]
            )
        plain, ours = ([cost.processor for cost in seen[kind]] for kind in ("plain", "supervised"))
        found[name] = {
            "tests": len(tests),
            "plain_s": median(cost.clock for cost in seen["plain"]),
            "supervised_s": median(cost.clock for cost in seen["supervised"]),
            "plain_processor_s": median(plain),
            "supervised_processor_s": median(ours),
            "ratio": median(ours) / median(plain),
            "noise": (max(plain) - min(plain)) / median(plain),
        }
    return found
