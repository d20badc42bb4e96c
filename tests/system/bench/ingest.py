"""What reading JUnit costs, against the least that is possible and against peers, by turns and each in a process.

``python ingest.py`` measures this alone; ``make bench`` measures it with everything else.
Processor seconds, not those of the clock: on a shared machine only they repeat.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from readers import PAGES, READERS
from reports import FILES, write_reports

FLOOR = "expat, building records"
CASES, TURNS = 200_000, 3
SYSTEM = Path(__file__).parents[1]


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {"processors": os.cpu_count(), "kind": platform.machine(), "python": platform.python_version()}


def rows(
    cases: int = CASES, turns: int = TURNS, files: int = 1, names: Sequence[str] = tuple(READERS)
) -> dict[str, dict[str, float | int | None]]:
    """By name: processor seconds, their ratio to the floor, noise, and the peak of memory.

    Args:
        cases: test cases in all reports together.
        turns: how often each is run; the median counts.
        files: how many reports.
        names: the readers; the floor must be among them.

    """
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        write_reports(Path(folder), cases, files)
        for _ in range(turns):
            for name in names:
                seen[name].append(_child(name, folder))
    floor = median(cost["processor_s"] for cost in seen[FLOOR])
    return {name: _row(costs, floor) for name, costs in seen.items()}


def _child(name: str, folder: str) -> dict[str, float]:
    script = Path(__file__).with_name("readers.py")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(SYSTEM), *sys.path])}
    done = subprocess.run(
        [sys.executable, str(script), name, folder], env=variables, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    cost: dict[str, float] = json.loads(done.stdout)
    return cost


def _row(costs: list[dict[str, float]], floor: float) -> dict[str, float | int | None]:
    seconds = [cost["processor_s"] for cost in costs]
    return {
        "cases": int(costs[0]["cases"]),
        "processor_s": round(median(seconds), 3),
        "ratio": round(median(seconds) / floor, 2),
        "noise": round((max(seconds) - min(seconds)) / median(seconds), 2) if len(seconds) > 1 else None,
        "peak_mib": round(max(cost["peak_mib"] for cost in costs)),
    }


def pages(cases: int = CASES, files: int = FILES) -> dict[str, dict[str, float] | str]:
    """What it costs to show reports, one of each device: by tool its cost, or why it was not measured.

    junit2html makes a page of each report, one after the other; it is fetched into an environment that is thrown away.
    xunit-viewer makes one page of all of them; it is measured where it is installed.
    """
    found: dict[str, dict[str, float] | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "reports"
        reports.mkdir()
        paths = write_reports(reports, cases, files)
        place = Path(folder) / "venv"
        venv.create(place, with_pip=True)
        pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q", "junit2html"]
        fetched = subprocess.run(pip, capture_output=True, text=True, check=False)
        page = str(Path(folder) / "page.html")
        for name in PAGES:
            cost = _child(name, str(reports))
            found[name] = {"processor_s": round(cost["processor_s"], 2), "peak_mib": round(cost["peak_mib"])}
        found["junit2html"] = (
            _outside([[str(place / "bin" / "python"), "-m", "junit2htmlreport", str(path), page] for path in paths])
            if fetched.returncode == 0
            else "not measured: it could not be installed"
        )
        found["xunit-viewer"] = _outside([["xunit-viewer", "-r", str(reports), "-o", page]])
    return found


def _outside(commands: Sequence[Sequence[str]]) -> dict[str, float] | str:
    """What commands cost, one after the other, from the kernel's accounts of them; the peak is that of the largest."""
    seconds, peak = 0.0, 0
    for command in commands:
        try:
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            return "not measured: it is not installed"
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            return f"not measured: it ended with exit code {process.returncode}"
        seconds += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss)
    return {"processor_s": round(seconds, 2), "peak_mib": round(peak / 1024)}


def lines(measured: dict[str, dict[str, float | int | None]]) -> list[str]:
    """The rows as lines of text."""
    head = f"{'reading JUnit':<36}{'processor':>11}{'ratio':>8}{'noise':>8}{'peak':>11}"
    return [head, *(f"{name:<36}{_cells(row)}" for name, row in measured.items())]


def _cells(row: dict[str, float | int | None]) -> str:
    noise = "?" if row["noise"] is None else f"{row['noise']:.0%}"
    return f"{row['processor_s']:>9.2f} s{row['ratio']:>8.2f}{noise:>8}{row['peak_mib']:>7.0f} MiB"


def main() -> None:
    """Measure, and print the table and its JSON."""
    parser = argparse.ArgumentParser(description="Measure what reading JUnit costs.")
    parser.add_argument("--cases", type=int, default=CASES, help=f"test cases in all ({CASES})")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"how often each is run ({TURNS})")
    parser.add_argument("--files", type=int, default=1, help="in how many reports (1)")
    parser.add_argument("--pages", action="store_true", help="measure tools that make pages, too")
    parser.add_argument("--as", dest="name", default="ingest", metavar="NAME", help="the section's name in the JSON")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows go, as JSON")
    arguments = parser.parse_args()
    measured = rows(arguments.cases, arguments.turns, arguments.files)
    sys.stdout.write("\n".join(lines(measured)) + "\n")
    if arguments.json is not None:
        found: dict[str, object] = {"machine": machine(), arguments.name: measured}
        if arguments.pages:
            found["pages"] = pages(arguments.cases)
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
