"""Test the reference device on several versions of torch: what it came to is in ``docs/torch_versions.json``.

    OOTCI_TORCH_WHEELS=FOLDER python tests/system/torch_versions.py [--record] [VERSION ...]

``OOTCI_TORCH_WHEELS`` is a folder with wheels of torch, or the address of a package index that has them. Each version
has a work folder of its own, so that a second call builds nothing again. With ``--record`` the results replace those of
the same versions in ``docs/torch_versions.json``, from which the page of the documentation is made.

Exit codes: 0 the reference device is OK on every version, 1 it is not, 2 a wheel is missing or an option is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from ootci.errors import OotciError, TorchWheelMissing
from ootci.model.outcome import FAILURES
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.verdict import Verdicts
from ootci.model.workspace import Workspace

ROOT = Path(__file__).parents[2]
SUITES = ROOT / "tests" / "device"
DATA = ROOT / "docs" / "torch_versions.json"
WORK = ROOT / ".ootci" / "torch-versions"
VARIABLE = "OOTCI_TORCH_WHEELS"
DEVICE = "openreg"
VERSIONS = ("2.12.1", "2.13.0", "2.14.1", "2.15.0")
"""The last patch of each minor version from the oldest that the reference plugin supports."""

CAPABILITY = "import torch; print(torch.backends.cpu.get_cpu_capability())"


def find_wheel(version: str, wheels: str, download: Path) -> Path:
    """The wheel of a version of torch that this Python can install.

    Args:
        version: such as ``2.15.0``; a wheel with a local version (``2.15.0+cpu``) is one of it.
        wheels: a folder, or the address of a package index.
        download: where wheels of an index are kept.

    Raises:
        TorchWheelMissing: there is none.

    """
    folder = Path(wheels)
    if "://" in wheels:
        folder = download
        folder.mkdir(parents=True, exist_ok=True)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
        source = ["--only-binary=:all:", "--index-url", wheels, "--dest", str(folder), f"torch=={version}"]
        done = subprocess.run([*pip, *source], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise TorchWheelMissing(
                f"torch {version} cannot be downloaded: {(done.stderr.strip() or 'pip failed').splitlines()[-1]}",
                where=wheels,
                fix=f"see that the index that {VARIABLE} names can be reached and has this version for this Python",
            )
    tags = frozenset(sys_tags())
    for path in sorted(folder.glob("torch-*.whl"), reverse=True):
        try:
            _, found, _, fitting = parse_wheel_filename(path.name)
        except InvalidWheelFilename:
            continue
        if Version(found.public) == Version(version) and tags & fitting:
            return path
    raise TorchWheelMissing(
        f"there is no wheel of torch {version} for this Python",
        where=str(folder),
        fix=f"put it there, or let {VARIABLE} name a folder or a package index that has it",
    )


def result(run: Run, verdict: str, measured: Mapping[str, Any], capability: str) -> dict[str, Any]:
    """What is kept of a run of the reference device on one version of torch.

    Args:
        run: its run.json.
        verdict: of the device on that nightly.
        measured: what ``python -m harness.defects`` printed.
        capability: which instructions torch's kernels used on this processor.

    """
    suites = {
        suite.suite: {name: count for name, count in suite.counts.model_dump().items() if count} for suite in run.suites
    }
    where = run.environment
    return {
        "torch": measured["torch"],
        "commit": run.torch.git_version if run.torch else None,
        "verdict": verdict,
        "measured_at": run.finished_at.isoformat(),
        "measured_on": {
            "python": where.python,
            "machine": where.machine,
            "cpus": where.cpus,
            "cpu_capability": capability,
        },
        "suites": suites,
        "failures": sorted(test.id for test in run.outcomes if test.outcome in FAILURES),
        "defects": measured["defects"],
    }


def measure(version: str, wheel: Path) -> dict[str, Any] | None:
    """Run the reference device's nightly on a wheel; None when it ended before it had results."""
    work = WORK / version
    options = {"torch": wheel, "suites": SUITES, "work": work, "history": work / "history", "site": work / "site"}
    command = [sys.executable, "-m", "ootci", "nightly", DEVICE]
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    workspace = Workspace(work)
    workspace.run(DEVICE).run.unlink(missing_ok=True)
    done = subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=False)
    if not workspace.run(DEVICE).run.exists() or done.returncode not in (0, 1):
        return None
    python = str(workspace.environment(DEVICE) / "bin" / "python")
    (verdict,) = (found for found in read(Verdicts, workspace.verdicts).devices if found.device == DEVICE)
    return result(
        read(Run, workspace.run(DEVICE).run),
        verdict.verdict.value,
        json.loads(_output(python, "-m", "harness.defects")),
        _output(python, "-c", CAPABILITY).strip(),
    )


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=SUITES, capture_output=True, text=True, check=True).stdout


def record(measured: Mapping[str, Any]) -> None:
    """Put results into the data file, in the order of their versions."""
    kept: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8")) if DATA.exists() else {}
    found = sorted({**kept, **measured}.items(), key=lambda one: Version(one[0]))
    DATA.write_text(json.dumps(dict(found), indent=1) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Test every version that was asked for; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("versions", metavar="VERSION", nargs="*", help=f"of torch; {', '.join(VERSIONS)} when absent")
    parser.add_argument("--record", action="store_true", help="write the results to docs/torch_versions.json")
    options = parser.parse_args(arguments)
    versions = options.versions or VERSIONS
    wheels = os.environ.get(VARIABLE, "")
    try:
        if not wheels:
            raise TorchWheelMissing(
                "it is not known where wheels of torch are",
                where=f"the environment variable {VARIABLE}",
                fix="set it to a folder with wheels, or to the address of a package index",
            )
        found = {version: find_wheel(version, wheels, WORK / "wheels") for version in versions}
    except OotciError as error:
        print(f"error {error.id}: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    failed = False
    for version, wheel in found.items():
        measured = measure(version, wheel)
        print(f"torch {version}: {measured['verdict'] if measured else 'no result'}", flush=True)  # noqa: T201
        failed |= measured is None or measured["verdict"] != "OK"
        if measured and options.record:
            record({version: measured})
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
