"""The torch wheels that tests run on: of the folder or the index that OOTCI_TORCH_WHEELS names.

A folder holds wheels; an index is laid out like PyTorch's, ``INDEX/VARIANT/torch/``, with its nightlies below
``INDEX/nightly``. A wheel that is asked for and not there is an error: a skipped test would look like a passed one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.packages import list_wheels, serve
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from ootci.adapters import torch_index
from ootci.adapters.download import DownloadProblem, download

VARIABLE = "OOTCI_TORCH_WHEELS"
VARIANT = "cpu"
DOWNLOAD_SECONDS = 1800.0


def torch_wheel(version: str, folder: Path) -> Path:
    """The wheel of a release for this Python, downloaded into a folder where an index has it."""
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.fail(f"there is no torch {version}: set {VARIABLE} to a folder of wheels or to an index", pytrace=False)
    if "://" not in named:
        return _in_folder(Path(named), version)
    try:
        found = torch_index.exact(f"{named.rstrip('/')}/{VARIANT}", version)
        wheel = folder / found.url.rpartition("/")[2].replace("%2B", "+")
        download(found.url, wheel, sha256=found.sha256, seconds=DOWNLOAD_SECONDS)
    except (torch_index.IndexProblem, DownloadProblem) as problem:
        pytest.fail(f"there is no torch {version}: {problem} ({VARIABLE})", pytrace=False)
    return wheel


@contextlib.contextmanager
def torch_variables(folder: Path) -> Iterator[dict[str, str]]:
    """Environment variables with which `make nightly` takes torch from there; none where nothing is named.

    A folder is served as an index of releases on loopback, and its nightlies as that of nightlies.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        yield {}
        return
    if "://" in named:
        index = named.rstrip("/")
        yield {"OOTCI_NIGHTLY_INDEX": f"{index}/nightly", "OOTCI_RELEASE_INDEX": index}
        return
    wheels = sorted(Path(named).glob("torch-*.whl"))
    if not wheels:
        pytest.fail(f"there is no torch in {named} ({VARIABLE})", pytrace=False)
    for channel in ("nightly", "release"):
        listed = folder / channel / VARIANT / "torch"
        listed.mkdir(parents=True)
        for wheel in wheels:
            if _version(wheel).is_devrelease == (channel == "nightly"):
                (listed / wheel.name).symlink_to(wheel.resolve())
        if found := sorted(listed.iterdir()):
            list_wheels(found)
    with serve(folder) as variables:
        yield variables


def _in_folder(folder: Path, version: str) -> Path:
    wanted, tags = Version(version), frozenset(sys_tags())
    for wheel in sorted(folder.glob("torch-*.whl")):
        if Version(_version(wheel).public) == wanted and parse_wheel_filename(wheel.name)[3] & tags:
            return wheel.resolve()
    pytest.fail(f"there is no torch {version} for this Python in {folder} ({VARIABLE})", pytrace=False)


def _version(wheel: Path) -> Version:
    return parse_wheel_filename(wheel.name)[1]
