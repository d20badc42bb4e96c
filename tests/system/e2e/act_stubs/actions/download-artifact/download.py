"""Copies artifacts out of the folder that plays the artifact store."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path


def main() -> None:
    """Download, by the rules of the real action that the workflows rely on."""
    store = Path(os.environ["STUB_STORE"]) / "artifacts"
    if run := os.environ["RUN"]:
        if not os.environ["TOKEN"]:
            sys.exit("another run's artifacts are given to nobody without a token")
        store = Path(os.environ["STUB_RUNS"]) / run
    name, target = os.environ["NAME"], Path(os.environ["TARGET"])
    target.mkdir(parents=True, exist_ok=True)
    if name:
        if not (store / name).is_dir():
            sys.exit(f"no artifact is named {name}")
        shutil.copytree(store / name, target, dirs_exist_ok=True)
        return
    for artifact in sorted(store.glob(os.environ["PATTERN"] or "*")):
        merged = os.environ["MERGE"] == "true"
        shutil.copytree(artifact, target if merged else target / artifact.name, dirs_exist_ok=merged)


if __name__ == "__main__":
    main()
