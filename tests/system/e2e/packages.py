"""Packages for workflows that run without a network: torch on loopback, laid out like PyTorch's, and all the rest."""

from __future__ import annotations

import contextlib
import hashlib
import os
import py_compile
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path

from loopback import running, serving
from misbehaving import stub_torch_wheel

NIGHTLY = f"2.15.0.dev{datetime.now(timezone.utc) - timedelta(days=1):%Y%m%d}+cpu"
"""Of yesterday: an index whose newest nightly is old is told of."""
RELEASE = "2.13.0+cpu"


SUITES_NEED = "pytest>=8.2"


def wheelhouse(folder: Path, requirements: Path) -> dict[str, str]:
    """Download what workflows install; gives the environment variables that make pip use it."""
    # The list is complete, and is installed without a look at what a package asks for, too.
    for wanted in (["--require-hashes", "--no-deps", f"--requirement={requirements}"], [SUITES_NEED]):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(folder)]
        subprocess.run([*command, *wanted], capture_output=True, check=True)
    return {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder)}


def compiled(sources: Path, folder: Path) -> Path:
    """Compile a folder of modules for checkouts of it: what Python keeps in ``__pycache__``, without the sources.

    Each holds its source's hash and not its time, so that Python takes it where the source is the same and no other.
    """
    for path in sources.rglob("*.py"):
        kept = folder / path.relative_to(sources).parent / "__pycache__"
        py_compile.compile(
            str(path),
            cfile=str(kept / f"{path.stem}.{sys.implementation.cache_tag}.pyc"),
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
        )
    return folder


@contextlib.contextmanager
def serve_torch(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the index; gives the environment variables that point the tool to it."""
    for channel, version in (("nightly", NIGHTLY), ("release", RELEASE)):
        list_wheels([stub_torch_wheel(folder / channel / "cpu" / "torch", version)])
    with serve(folder) as variables:
        yield variables


def list_wheels(wheels: Sequence[Path]) -> None:
    """Write the index page of wheels that lie in one folder."""
    lines = []
    for wheel in wheels:
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        lines.append(f'<a href="{wheel.name.replace("+", "%2B")}#sha256={digest}">{wheel.name}</a>')
    page = "<!DOCTYPE html><body>" + "\n".join(lines) + "</body>"
    (wheels[0].parent / "index.html").write_text(page, encoding="utf-8")


@contextlib.contextmanager
def serve(folder: Path) -> Iterator[dict[str, str]]:
    """Serve a folder that holds the indexes; gives the environment variables that point the tool to them."""
    with running(serving(folder)) as server:
        yield {"OOTCI_NIGHTLY_INDEX": f"{server.url}/nightly", "OOTCI_RELEASE_INDEX": f"{server.url}/release"}
