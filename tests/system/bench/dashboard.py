"""What rendering the whole dashboard costs with a year of nightlies in the history.

With ``--front``, how soon the front page of many devices can be used.

Invented devices with ten thousand tests each, see ``tests/system/simulator``; a test that fails says a dozen lines.
Each rendering is a process of its own. Seconds are of the processor and without starting Python.
"""

from __future__ import annotations

import argparse
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
FRONT_DEVICES, FRONT_NIGHTS, FRONT_TESTS = 50, 15, 200
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

    def fill(self, folder: Path, numbers: range, end: int) -> None:
        """Append nights as if the history had been cleaned on the night ``end``."""
        for number in numbers:
            self.append(number, folder, end)

    def append(self, number: int, folder: Path, end: int) -> None:
        """Append a night."""
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


def rows(devices: int = DEVICES, nights: int = NIGHTS, tests: int = TESTS, turns: int = TURNS) -> dict[str, object]:
    """Render a year, as often as there are turns."""
    fleet, last = Fleet(devices, nights, tests), nights - 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        registry = _registry(fleet, folder)
        fleet.fill(folder / "history", range(nights), last)
        fleet.judge(folder / "history", last, folder / "verdicts.json")
        costs = [_rendered(folder, folder / "site", registry) for _ in range(turns)]
        seconds = [cost["seconds"] for cost in costs]
        files = [path for path in (folder / "site").rglob("*") if path.is_file()]
        return {
            "devices": devices,
            "nights": nights,
            "tests": tests,
            "seconds": round(median(seconds), 2),
            "noise": round((max(seconds) - min(seconds)) / median(seconds), 2) if turns > 1 else None,
            "peak_mib": max(cost["peak_mib"] for cost in costs),
            "files": len(files),
            "bytes": _bytes(folder / "site", files),
        }


def front(devices: int = FRONT_DEVICES, turns: int = 15) -> Opened | str:
    """Open the front page of many devices; what it shows grows with neither tests nor earlier nights."""
    fleet, last = Fleet(devices, FRONT_NIGHTS, FRONT_TESTS), FRONT_NIGHTS - 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        registry = _registry(fleet, folder)
        fleet.fill(folder / "history", range(FRONT_NIGHTS), last)
        fleet.judge(folder / "history", last, folder / "verdicts.json")
        _rendered(folder, folder / "site", registry)
        return opened(folder / "site" / "index.html", turns)


def _registry(fleet: Fleet, folder: Path) -> Path:
    path = folder / "registry.json"
    path.write_text(json.dumps([item.model_dump(mode="json") for item in fleet.registry()]))
    return path


def _rendered(place: Path, site: Path, registry: Path) -> Cost:
    command = [sys.executable, __file__, "--render", str(place / "history"), str(place / "verdicts.json")]
    done = subprocess.run(
        [*command, str(site), str(registry)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    cost: Cost = json.loads(done.stdout)
    return cost


def _render(history: Path, verdicts: Path, site: Path, registry: Path) -> Cost:
    devices = tuple(RegisteredDevice.model_validate(item) for item in json.loads(registry.read_text()))
    found = read(Verdicts, verdicts)
    gc.set_threshold(GC_THRESHOLD)  # as in the command
    begun = time.process_time()
    render(devices, History(history), found, site)
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


def main() -> None:
    """Measure, and print and keep the numbers; or be one of the renderings."""
    parser = argparse.ArgumentParser(description="Measure what rendering the dashboard costs.")
    parser.add_argument("--devices", type=int, default=DEVICES)
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--tests", type=int, default=TESTS)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the numbers go")
    parser.add_argument("--front", action="store_true", help="open the front page of 50 devices in Chromium instead")
    parser.add_argument("--render", nargs=4, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.render:
        sys.stdout.write(json.dumps(_render(*arguments.render)))
        return
    if arguments.front:
        measured: dict[str, object] = {"front": front()}
    else:
        measured = {"site": rows(arguments.devices, arguments.nights, arguments.tests, arguments.turns)}
    text = json.dumps(measured, indent=1) + "\n"
    sys.stdout.write(text)
    if arguments.json is not None:
        arguments.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
