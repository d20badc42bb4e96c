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
DEVICE, TORCH = "dev", "2.13.0"
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
    done = subprocess.run(_reader(name, folder), env=_variables(), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{name} failed:\n{done.stderr[-2000:]}")
    cost: dict[str, float] = json.loads(done.stdout)
    return cost


def _reader(name: str, folder: str) -> list[str]:
    return [sys.executable, str(Path(__file__).with_name("readers.py")), name, folder]


def _variables() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SYSTEM), *sys.path])}


def _row(costs: list[dict[str, float]], floor: float) -> dict[str, float]:
    row = _middle(costs)
    return {"cases": int(costs[0]["cases"]), **row, "ratio": round(row["processor_s"] / floor, 2)}


def _middle(costs: Sequence[dict[str, float]]) -> dict[str, float]:
    """The median of some turns."""
    seconds = [cost["processor_s"] for cost in costs]
    return {
        "processor_s": round(median(seconds), 3),
        "noise": round((max(seconds) - min(seconds)) / median(seconds), 2),
        "peak_mib": round(max(cost["peak_mib"] for cost in costs)),
    }


def pages() -> dict[str, dict[str, float] | str]:
    """What it costs to show test cases to people: by tool its cost, or why it was not measured.

    Of twenty reports we make the whole site, junit2html a page of each, and xunit-viewer one page of all. Of a single
    report with as many cases junit2html makes one page. We have no command that makes one page only: the least is what
    a vendor sees of a report, the device's own pages. junit2html is fetched into an environment that is thrown away,
    xunit-viewer is measured where it is installed.
    """
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name, files in (("many", FILES), ("one", 1)):
            (place / name).mkdir()
            write_reports(place / name, CASES, files)
        venv.create(place / "venv", with_pip=True)
        pip = [str(place / "venv" / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
        subprocess.run([*pip, "junit2html"], capture_output=True, check=False)
        _register(place)
        seen: dict[str, list[dict[str, float]]] = {}
        missing: dict[str, str] = {}
        for turn in range(TURNS):
            for name, todo in _commands(place, turn).items():
                cost = _outside(todo)
                if isinstance(cost, str):
                    missing[name] = cost
                else:
                    seen.setdefault(name, []).append(cost)
    return {**{name: _middle(costs) for name, costs in seen.items()}, **missing}


def _register(place: Path) -> None:
    """Prepare what we need before there is a report: a device's file, and a plan that expects its run."""
    device = {
        "name": DEVICE,
        "display_name": "A device",
        "vendor": "A vendor",
        "maintainers": ["@somebody"],
        "plugin": {"distribution": f"torch-{DEVICE}", "path": "."},
        "suites": [{"name": "ops"}],
    }
    (place / "devices").mkdir()
    (place / "devices" / f"{DEVICE}.yaml").write_text(json.dumps(device), encoding="utf-8")
    subprocess.run(_ootci(place, "plan", "--torch", TORCH), env=_variables(), capture_output=True, check=False)
    (place / "work" / "runs").mkdir(parents=True, exist_ok=True)
    (place / "one").rename(place / "work" / "runs" / DEVICE)


def _ootci(place: Path, *arguments: str) -> list[str]:
    work = [] if "preview" in arguments else ["--work", str(place / "work")]
    return [sys.executable, "-m", "ootci", *arguments, "--devices", str(place / "devices"), *work]


def _commands(place: Path, turn: int) -> dict[str, list[list[str]]]:
    """By tool, the commands that it needs."""
    run, page, junit2html = place / "work" / "runs" / DEVICE, str(place / "page.html"), place / "venv/bin/junit2html"
    preview = ["--run", str(run / "run.json"), "--output", str(place / f"preview-{turn}")]
    reports = sorted((place / "many").iterdir())
    return {
        **{f"{FILES} reports: {name}": [_reader(name, str(place / "many"))] for name in PAGES},
        f"{FILES} reports: junit2html, a page of each": [[str(junit2html), str(path), page] for path in reports],
        f"{FILES} reports: xunit-viewer, one page": [["xunit-viewer", "-r", str(place / "many"), "-o", page]],
        "one report: ootci collect and device preview, the device's pages": [
            _ootci(place, "collect", DEVICE),
            _ootci(place, "device", "preview", DEVICE, *preview),
        ],
        "one report: junit2html, one page": [[str(junit2html), str(path), page] for path in run.glob("junit-*.xml")],
    }


def _outside(commands: Sequence[Sequence[str]]) -> dict[str, float] | str:
    """What commands cost, one after the other, from the kernel's accounts of them; the peak is that of the largest."""
    seconds, peak = 0.0, 0
    for command in commands:
        variables = _variables() if command[0] == sys.executable else None
        try:
            process = subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        except FileNotFoundError:
            return "not measured: it is not installed"
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            return f"not measured: it ended with exit code {process.returncode}"
        seconds += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss)
    return {"processor_s": seconds, "peak_mib": peak / 1024}


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
