"""``make bench``: what the project costs, as ratios against a peer in the same run. Nothing here is a test.

Needs the reference device's environment, which ``make nightly`` makes. Prints a table and writes ``.ootci/bench.json``,
from which ``performance_page.py`` makes ``docs/performance.md``.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import dashboard
import history
import ingest
import suites
from builds import builds

ROOT = Path(__file__).parents[3]
ENVIRONMENT = ROOT / ".ootci" / "envs" / "openreg"


def main() -> None:
    """Run everything and print the table."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        sys.exit("the reference device's environment is missing: run `make nightly` first")
    script = Path(__file__).with_name("openreg_latency.py")
    measured = subprocess.run([str(python), str(script)], capture_output=True, text=True, check=True)
    latency = json.loads(measured.stdout)
    built = builds(python, ROOT / "devices" / "openreg")
    supervised = suites.rows(python, "openreg")
    read = ingest.rows()
    peers = ingest.pages(ingest.CASES)
    seconds, size = history.rows()
    measured_all = {
        "machine": ingest.machine(),
        "latency": latency,
        "build": built,
        "suites": supervised,
        "ingest": read,
        "pages": peers,
        "history": {"seconds": seconds, "size": size},
        "site": dashboard.rows(),
    }
    (ROOT / ".ootci" / "bench.json").write_text(json.dumps(measured_all, indent=1) + "\n")
    lines = [f"{'what':<36}{'device':>11}{'cpu':>11}{'ratio':>8}{'noise':>8}"]
    for name, row in latency.items():
        if "cpu_us" in row:
            ratio = row["device_us"] / row["cpu_us"]
            cells = f"{row['device_us']:>8.2f} us{row['cpu_us']:>8.2f} us{ratio:>8.2f}{row['noise']:>8.0%}"
            lines.append(f"{name:<36}{cells}")
    for name, cost in built.items():
        cells = f"{cost['wall_s']:>9.1f} s{cost['cpu_s']:>9.1f} s of processor time"
        lines.append(f"build, {name:<29}{cells}{cost['largest_process_mib']:>8.0f} MiB")
    for name, row in supervised.items():
        cells = f"{row['supervised_processor_s']:>9.1f} s{row['plain_processor_s']:>9.1f} s{row['ratio']:>8.2f}"
        lines.append(f"suite, {name:<29}{cells}{row['noise']:>8.0%}")
    lines += ingest.lines(read)
    lines += history.lines(seconds, size)
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
