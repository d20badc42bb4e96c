"""What the reference device's wheel costs to build."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EDITED = "csrc/ops/Fill.cpp"


def _cost(command: list[str], cwd: Path, env: dict[str, str]) -> dict[str, float]:
    """Seconds by the clock and of the processor, and the MiB of the largest process so far."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - began
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_s": wall, "cpu_s": cpu, "largest_process_mib": after.ru_maxrss / 1024}


def builds(python: Path, plugin: Path) -> dict[str, dict[str, float]]:
    """Costs of a wheel: cold, nothing changed, one file edited, and with a warm ccache in another folder."""
    with tempfile.TemporaryDirectory() as folder:
        first, second, third = (Path(folder) / name / "openreg" for name in ("first", "second", "third"))
        for copy in (first, second, third):
            shutil.copytree(plugin, copy, ignore=shutil.ignore_patterns("build"))
        cached = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
        cached["CCACHE_DIR"] = str(Path(folder) / "ccache")
        plain = {**cached, "CCACHE_DISABLE": "1"}
        command = [str(python), "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", folder, "."]
        costs = {"cold": _cost(command, first, plain), "nothing changed": _cost(command, first, plain)}
        with (first / EDITED).open("a", encoding="utf-8") as stream:
            stream.write("// edited\n")
        costs["one file edited"] = _cost(command, first, plain)
        if shutil.which("ccache"):
            _cost(command, second, cached)
            costs["warm ccache, another folder"] = _cost(command, third, cached)
        return costs
