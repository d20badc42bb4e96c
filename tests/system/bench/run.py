"""``make bench``: what the project costs, as ratios against a peer in the same run. Nothing here is a test.

Needs the reference device's environment, which ``make nightly`` makes. Prints a table and writes ``.ootci/bench.json``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import suites

ROOT = Path(__file__).parents[3]
ENVIRONMENT = ROOT / ".ootci" / "envs" / "openreg"
EDITED = "csrc/ops/Fill.cpp"


def _seconds(command: list[str], cwd: Path, env: dict[str, str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return time.perf_counter() - began


def builds(python: Path) -> dict[str, float]:
    """Seconds to build the plugin's wheel: cold, with nothing changed, and with one file edited."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "openreg"
        shutil.copytree(ROOT / "devices" / "openreg", copy, ignore=shutil.ignore_patterns("build"))
        env = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "CCACHE_DISABLE": "1"}
        command = [str(python), "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", folder, "."]
        cold = _seconds(command, copy, env)
        same = _seconds(command, copy, env)
        with (copy / EDITED).open("a", encoding="utf-8") as stream:
            stream.write("// edited\n")
        return {"cold": cold, "nothing changed": same, "one file edited": _seconds(command, copy, env)}


def main() -> None:
    """Run everything and print the table."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        sys.exit("the reference device's environment is missing: run `make nightly` first")
    script = Path(__file__).with_name("openreg_latency.py")
    measured = subprocess.run([str(python), str(script)], capture_output=True, text=True, check=True)
    latency = json.loads(measured.stdout)
    built = builds(python)
    supervised = suites.rows(python, "openreg")
    measured_all = {"latency": latency, "build": built, "suites": supervised}
    (ROOT / ".ootci" / "bench.json").write_text(json.dumps(measured_all, indent=1) + "\n")
    lines = [f"{'what':<36}{'device':>11}{'cpu':>11}{'ratio':>8}{'noise':>8}"]
    for name, row in latency.items():
        if "cpu_us" in row:
            ratio = row["device_us"] / row["cpu_us"]
            cells = f"{row['device_us']:>8.2f} us{row['cpu_us']:>8.2f} us{ratio:>8.2f}{row['noise']:>8.0%}"
            lines.append(f"{name:<36}{cells}")
    lines += [f"build, {name:<29}{seconds:>8.1f} s" for name, seconds in built.items()]
    for name, row in supervised.items():
        cells = f"{row['supervised_processor_s']:>9.1f} s{row['plain_processor_s']:>9.1f} s{row['ratio']:>8.2f}"
        lines.append(f"suite, {name:<29}{cells}{row['noise']:>8.0%}")
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
