"""What reading JUnit costs, against the least that is possible and against peers, by turns and each in a process.

Processor seconds, not those of the clock: on a shared machine only they repeat.
"""

from __future__ import annotations

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
from reports import write_reports

FLOOR = "expat, building records"
CASES, FILES, TURNS = 200_000, 20, 3
SYSTEM = Path(__file__).parents[1]


def machine() -> dict[str, object]:
    """What the figures were measured on."""
    return {"processors": os.cpu_count(), "kind": platform.machine(), "python": platform.python_version()}


def rows() -> dict[str, dict[str, float]]:
    """Of one report, by reader: processor seconds (median), their ratio to the floor, noise, and the peak of memory."""
    seen: dict[str, list[dict[str, float]]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as folder:
        write_reports(Path(folder), CASES, 1)
        for _ in range(TURNS):
            for name in READERS:
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


def _row(costs: list[dict[str, float]], floor: float) -> dict[str, float]:
    seconds = [cost["processor_s"] for cost in costs]
    return {
        "cases": int(costs[0]["cases"]),
        "processor_s": round(median(seconds), 3),
        "ratio": round(median(seconds) / floor, 2),
        "noise": round((max(seconds) - min(seconds)) / median(seconds), 2),
        "peak_mib": round(max(cost["peak_mib"] for cost in costs)),
    }


def pages() -> dict[str, dict[str, float] | str]:
    """What it costs to show reports, one of each device: by tool its cost, or why it was not measured.

    junit2html makes a page of each report, one after the other; it is fetched into an environment that is thrown away.
    xunit-viewer makes one page of all of them; it is measured where it is installed.
    """
    found: dict[str, dict[str, float] | str] = {}
    with tempfile.TemporaryDirectory() as folder:
        reports = Path(folder) / "reports"
        reports.mkdir()
        paths = write_reports(reports, CASES, FILES)
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


def lines(measured: dict[str, dict[str, float]]) -> list[str]:
    """The rows as lines of text."""
    head = f"{'reading JUnit':<36}{'processor':>11}{'ratio':>8}{'noise':>8}{'peak':>11}"
    return [
        head,
        *(
            f"{name:<36}{row['processor_s']:>9.2f} s{row['ratio']:>8.2f}{row['noise']:>8.0%}{row['peak_mib']:>7.0f} MiB"
            for name, row in measured.items()
        ),
    ]
