"""Whether the cpu fails for a reason of its own, or because a plugin is loaded beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from harness.device import CONTROL

OF_TORCH = (
    "Jiterator is only supported on CUDA",
    "Cannot copy out of meta tensor",
    "no result depends on a tensor that requires a gradient",
)
"""Measured on torch 2.13.0 without a plugin (``--device cpu``), so that it need not be asked on every night."""
SUITES = Path(__file__).parents[1]
TIMEOUT_SECONDS = 60.0
_PASSED_ALONE: dict[str, bool] = {}


def is_broken_by_the_plugin(error: str) -> bool:
    """Whether the test that is running passes on the cpu in a process without the plugin.

    Args:
        error: the cpu's error in this process. It is asked about once, by the first test that meets it.

    """
    if any(known in error for known in OF_TORCH):
        return False
    if error not in _PASSED_ALONE:
        test = os.environ["PYTEST_CURRENT_TEST"].rpartition(" (")[0]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test, "--device", CONTROL]
        try:
            done = subprocess.run(
                command,
                cwd=SUITES,
                env={**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
            _PASSED_ALONE[error] = "1 passed" in done.stdout
        except subprocess.TimeoutExpired:
            _PASSED_ALONE[error] = False
    return _PASSED_ALONE[error]
