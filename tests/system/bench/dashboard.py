"""What rendering the whole dashboard costs with a year of nightlies, and how soon the front page can be used.

Invented devices with ten thousand tests each, see ``tests/system/simulator``; a test that fails says a dozen lines.
Each rendering is a process of its own. Seconds are of the processor and without starting Python.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import TypedDict

BENCH = Path(__file__).parent
sys.path[:0] = [str(BENCH), str(BENCH.parent)]

from front_page import Opened, opened  # noqa: E402 (found just above)
from history import Feed, LargeRun  # noqa: E402

from ootci.cli.main import GC_THRESHOLD  # noqa: E402
from ootci.history.details import FailureText, Measures, Texts, packed  # noqa: E402
from ootci.history.gc import MEASURES_RUNS, TEXTS_NIGHTS  # noqa: E402
from ootci.history.layout import (  # noqa: E402
    RunKey,
    details_file,
    month_of,
    write_files,
)
from ootci.history.store import History  # noqa: E402
from ootci.model.device import RegisteredDevice  # noqa: E402
from ootci.model.plan import Plan  # noqa: E402
from ootci.model.record import read, write  # noqa: E402
from ootci.model.verdict import Verdicts  # noqa: E402
from ootci.stages.judge import judge  # noqa: E402
from ootci.stages.render import render  # noqa: E402

DEVICES, NIGHTS, TESTS, TURNS = 10, 365, 10_000, 3
LARGE_DEVICES = 50
FRONT_NIGHTS, FRONT_TESTS = 15, 200
TEXT = "\n".join(
    f"E       assert tensor[{number}] == expected  # of the dozen that a test says" for number in range(12)
)


class Cost(TypedDict):
    """What one rendering cost."""

    seconds: float
    peak_mib: int


class Fleet:
    """As many devices as are asked for: those of the invented world, again and again under other names."""

    def __init__(self, devices: int, nights: int, tests: int) -> None:
        self._feed = Feed(nights, tests)
        self._nights, self._devices = nights, devices

    def _names(self, name: str) -> list[str]:
        names = self._feed.names
        return [f"{name}{'_' * copy}" for copy in range(-(-self._devices // len(names)))][
            : len(range(names.index(name), self._devices, len(names)))
        ]

    def registry(self) -> tuple[RegisteredDevice, ...]:
        """The devices at the end."""
        return tuple(
            item.model_copy(update={"device": item.device.model_copy(update={"name": name})})
            for item in self._feed.registry()
            for name in self._names(item.device.name)
        )

    def append(self, number: int, folder: Path, end: int) -> None:
        """Append a night as if the history had been cleaned on the night ``end``."""
        night = self._feed.night(number)
        History(folder).append_plan(self._plan(night.plan))
        for run in night.arrivals:
            made = self._feed.large_run(run, number)
            details = _details(made, end - number)
            for name in self._names(run.device):
                files = made.files(folder, name)
                key, month = RunKey(run.plan_id, name, run.attempt), month_of(run.started_at)
                for found in details:
                    kind = type(found).__name__.lower()
                    if text := packed(found):
                        files[details_file(folder, month, key, kind)] = text
                write_files(files)

    def _plan(self, plan: Plan) -> Plan:
        runs = tuple(
            run.model_copy(update={"device": name, "run_id": f"{plan.id}-{name}"})
            for run in plan.runs
            for name in self._names(run.device)
        )
        left_out = tuple(
            item.model_copy(update={"device": name}) for item in plan.left_out for name in self._names(item.device)
        )
        return plan.model_copy(update={"runs": runs, "left_out": left_out})

    def judge(self, folder: Path, number: int, target: Path) -> None:
        """Write what the judge finds on a night."""
        write(judge(self.registry(), History(folder), self._feed.now(number)), target)


def _details(run: LargeRun, age: int) -> list[Texts | Measures]:
    failing = {place for places in run.signatures.values() for place in places}
    texts = dict.fromkeys(sorted(failing), FailureText(message="values differ", text=TEXT))
    found: list[Texts | Measures] = [Texts(tests=texts)] if age <= TEXTS_NIGHTS else []
    return [*found, Measures(durations=(0.01,) * run.outcomes)] if age < MEASURES_RUNS else found


def rows(devices: int = DEVICES, turns: int = TURNS) -> dict[str, object]:
    """Render a year, as often as there are turns."""
    with tempfile.TemporaryDirectory() as name:
        folder = _made(Path(name), devices, NIGHTS, TESTS)
        costs = [_rendered(folder) for _ in range(turns)]
        seconds = [cost["seconds"] for cost in costs]
        files = [path for path in (folder / "site").rglob("*") if path.is_file()]
        return {
            "devices": devices,
            "nights": NIGHTS,
            "tests": TESTS,
            "seconds": round(median(seconds), 2),
            "noise": round((max(seconds) - min(seconds)) / median(seconds), 2) if turns > 1 else None,
            "peak_mib": max(cost["peak_mib"] for cost in costs),
            "files": len(files),
            "bytes": _bytes(folder / "site", files),
        }


def front() -> Opened | str:
    """Open the front page of many devices; what it shows grows with neither tests nor earlier nights."""
    with tempfile.TemporaryDirectory() as name:
        folder = _made(Path(name), LARGE_DEVICES, FRONT_NIGHTS, FRONT_TESTS)
        _rendered(folder)
        return opened(folder / "site" / "index.html")


def _made(folder: Path, devices: int, nights: int, tests: int) -> Path:
    """A folder with what rendering reads: the registered devices, their history, and the verdicts of the last night."""
    fleet, last = Fleet(devices, nights, tests), nights - 1
    (folder / "registry.json").write_text(json.dumps([item.model_dump(mode="json") for item in fleet.registry()]))
    for number in range(nights):
        fleet.append(number, folder / "history", last)
    fleet.judge(folder / "history", last, folder / "verdicts.json")
    return folder


def _rendered(folder: Path) -> Cost:
    done = subprocess.run(
        [sys.executable, __file__, str(folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cost: Cost = json.loads(done.stdout)
    return cost


def _render(folder: Path) -> Cost:
    registry = json.loads((folder / "registry.json").read_text())
    devices = tuple(RegisteredDevice.model_validate(item) for item in registry)
    verdicts = read(Verdicts, folder / "verdicts.json")
    gc.set_threshold(GC_THRESHOLD)  # as in the command
    begun = time.process_time()
    render(devices, History(folder / "history"), verdicts, folder / "site")
    return Cost(
        seconds=round(time.process_time() - begun, 2),
        peak_mib=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    )


def _bytes(site: Path, files: Iterable[Path]) -> dict[str, int]:
    """The site's bytes by the folder at its top."""
    found: dict[str, int] = {}
    for path in files:
        parts = path.relative_to(site).parts
        top = f"{parts[0]}/" if len(parts) > 1 else "other"
        found[top] = found.get(top, 0) + path.stat().st_size
    return dict(sorted(found.items(), key=lambda item: -item[1]))


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_render(Path(sys.argv[1]))))
