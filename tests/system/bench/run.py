"""``make bench``: what the project costs, as ratios against a peer in the same run. Nothing here is a test.

``make bench ONLY="ingest pages"`` measures some of it. What is measured goes into ``.ootci/bench.json`` as soon as it
is there, and what stood there of other measurements stays; ``performance_page.py`` makes ``docs/performance.md`` of it.
Some measure the reference device, whose environment ``make nightly`` makes.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import dashboard
import history
import ingest
import suites
from builds import builds

ROOT = Path(__file__).parents[3]
MEASURED = ROOT / ".ootci" / "bench.json"
PYTHON = ROOT / ".ootci" / "envs" / "openreg" / "bin" / "python"
"""That of the reference device, which has torch and the plugin."""


def _latency() -> Any:
    script = Path(__file__).with_name("openreg_latency.py")
    return json.loads(subprocess.run([str(PYTHON), str(script)], capture_output=True, text=True, check=True).stdout)


def _history() -> dict[str, object]:
    seconds, size = history.rows()
    return {"seconds": seconds, "size": size}


def _latency_lines(rows: dict[str, dict[str, float]]) -> Iterable[str]:
    for name, row in rows.items():
        ratio = row["device_us"] / row["cpu_us"]
        cells = f"{row['device_us']:>8.2f} us{row['cpu_us']:>8.2f} us{ratio:>8.2f}{row['noise']:>8.0%}"
        yield f"{name:<36}{cells}   device, cpu, ratio, noise"


def _build_lines(rows: dict[str, dict[str, float]]) -> Iterable[str]:
    for name, cost in rows.items():
        cells = f"{cost['wall_s']:>9.1f} s{cost['cpu_s']:>9.1f} s of processor time"
        yield f"build, {name:<29}{cells}{cost['largest_process_mib']:>8.0f} MiB"


def _suite_lines(rows: dict[str, dict[str, float]]) -> Iterable[str]:
    for name, row in rows.items():
        cells = f"{row['supervised_processor_s']:>9.1f} s{row['plain_processor_s']:>9.1f} s{row['ratio']:>8.2f}"
        yield f"suite, {name:<29}{cells}{row['noise']:>8.0%}   supervised, plain, ratio, noise"


MEASUREMENTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Iterable[str]]]] = {
    "latency": (_latency, _latency_lines),
    "build": (lambda: builds(PYTHON, ROOT / "devices" / "openreg"), _build_lines),
    "suites": (lambda: suites.rows(PYTHON), _suite_lines),
    "ingest": (ingest.rows, ingest.lines),
    "pages": (ingest.pages, lambda found: json.dumps(found, indent=1).splitlines()),
    "history": (_history, lambda found: history.lines(found["seconds"], found["size"])),
    "site": (dashboard.rows, lambda found: json.dumps(found, indent=1).splitlines()),
    "site_large": (
        lambda: dashboard.rows(dashboard.LARGE_DEVICES, turns=1),
        lambda found: json.dumps(found, indent=1).splitlines(),
    ),
    "front": (dashboard.front, lambda found: json.dumps(found, indent=1).splitlines()),
}
"""By name, which is also that of its section in the JSON: how it is measured, and its lines of text."""
OF_THE_DEVICE = ("latency", "build", "suites")
WHEN_ASKED = ("site_large",)
"""Those that take so long that they are measured only by name."""


def main() -> None:
    """Measure, and print and keep each table as soon as it is there."""
    parser = argparse.ArgumentParser(description="Measure what the project costs.")
    which = f"which: {', '.join(MEASUREMENTS)} (default: all but {', '.join(WHEN_ASKED)})"
    parser.add_argument("names", nargs="*", metavar="NAME", help=which)
    names = parser.parse_args().names or [name for name in MEASUREMENTS if name not in WHEN_ASKED]
    if unknown := [name for name in names if name not in MEASUREMENTS]:
        parser.error(f"no measurement is called {', '.join(unknown)}: there are {', '.join(MEASUREMENTS)}")
    if not PYTHON.exists() and (wanting := [name for name in names if name in OF_THE_DEVICE]):
        sys.exit(f"{', '.join(wanting)} need the reference device's environment, which is missing: run `make nightly`")
    for name in names:
        measure, lines = MEASUREMENTS[name]
        found = measure()
        _keep(name, found)
        sys.stdout.write("\n".join([f"-- {name}", *lines(found)]) + "\n")
        sys.stdout.flush()


def _keep(name: str, found: object) -> None:
    kept = json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else {}
    MEASURED.parent.mkdir(exist_ok=True)
    MEASURED.write_text(
        json.dumps({**kept, "machine": ingest.machine(), name: found}, indent=1) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
