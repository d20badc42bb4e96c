"""Runs pip for the first job that installs a file of pinned requirements, and gives all others what came of it."""

from __future__ import annotations

import compileall
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path


def main(arguments: list[str]) -> int:
    """Install into the folder that is named after ``--target``."""
    site, requirements = (Path(arguments[arguments.index(option) + 1]) for option in ("--target", "--requirement"))
    same = [argument for argument in arguments if argument not in (str(site), str(requirements))]
    # Whatever else pip is told, or finds in the file, is another installation.
    digest = hashlib.sha256(repr((same, requirements.read_bytes())).encode()).hexdigest()
    kept = Path(os.environ["STUB_INSTALLED"]) / digest
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.is_dir():
            failed = subprocess.run([sys.executable, *arguments], check=False).returncode
            if failed:
                return failed
            made = kept.with_suffix(".made")
            shutil.copytree(site, made)
            compileall.compile_dir(made, quiet=2)
            made.rename(kept)
    site.mkdir(parents=True, exist_ok=True)
    for entry in kept.iterdir():
        if not (site / entry.name).exists():  # the first job's own are there
            (site / entry.name).symlink_to(entry)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
