"""The torch that `make nightly` takes in tests: of the folder or the package index that OOTCI_TORCH_WHEELS names.

A wheel that is not there is an error: a skipped test would look like a passed one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.packages import list_wheels, serve
from packaging.utils import parse_wheel_filename

VARIABLE = "OOTCI_TORCH_WHEELS"
VARIANT = "cpu"


@contextlib.contextmanager
def torch_variables(folder: Path) -> Iterator[dict[str, str]]:
    """Environment variables with which `make nightly` takes torch from there; none where nothing is named.

    The index is one of a build variant, ``INDEX/cpu``, with nightlies at ``INDEX/nightly/cpu`` as PyTorch's are. A
    folder of wheels is served so on loopback, from the folder that is given, which has to be empty.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        yield {}
        return
    if "://" in named:
        index = named.rstrip("/").removesuffix(f"/{VARIANT}")
        yield {"OOTCI_NIGHTLY_INDEX": f"{index}/nightly", "OOTCI_RELEASE_INDEX": index}
        return
    wheels = sorted(Path(named).glob("torch-*.whl"))
    if not wheels:
        pytest.fail(f"there is no torch in {named} ({VARIABLE})", pytrace=False)
    for channel in ("nightly", "release"):
        listed = folder / channel / VARIANT / "torch"
        listed.mkdir(parents=True)
        for wheel in wheels:
            if parse_wheel_filename(wheel.name)[1].is_devrelease == (channel == "nightly"):
                (listed / wheel.name).symlink_to(wheel.resolve())
        if found := sorted(listed.iterdir()):
            list_wheels(found)
    with serve(folder) as variables:
        yield variables
