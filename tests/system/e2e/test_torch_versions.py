"""Devices that need no card are OK: the reference on every version of torch that the project names, and `opencl`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Tool
from torch_versions import VARIABLE, VERSIONS, find_wheel

pytestmark = [pytest.mark.deep, pytest.mark.torch, pytest.mark.long]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_nightly_of_the_reference_device_ends_ok(root: Path, version: str) -> None:
    """A version whose wheel is not there is a failure, too."""
    command = [sys.executable, "tests/system/torch_versions.py", version]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


def test_a_nightly_of_a_public_plugin_that_computes_on_the_cpu_ends_ok(root: Path, ootci: Tool, tmp_path: Path) -> None:
    """With the newest torch that the plugin's wheel loads on."""
    wheel = find_wheel("2.12.1", os.environ[VARIABLE], tmp_path)
    ran = ootci("nightly", "opencl", "--devices", str(root / "devices"), "--torch", str(wheel), cwd=tmp_path)
    assert ran.code == 0, ran.out + ran.err
