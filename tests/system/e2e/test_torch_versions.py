"""The reference device is as expected on every version of torch that the project names."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from torch_versions import VERSIONS

pytestmark = [pytest.mark.deep, pytest.mark.torch, pytest.mark.long]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_nightly_of_the_reference_device_ends_ok(root: Path, version: str) -> None:
    """A version whose wheel is not there is a failure, too."""
    command = [sys.executable, "tests/system/torch_versions.py", version]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
