"""Whether a plugin provides a device, and whether it is the one of PrivateUse1: torch knows names of others, too."""

from __future__ import annotations

import json

import pytest
from small_suites import DevicePython

pytestmark = pytest.mark.torch

ASK = """
import json
import types
import torch
from harness.device import is_from_plugin, is_privateuse1
torch.utils.rename_privateuse1_backend("opencl")
for name in ("opencl", "xla"):
    torch._register_device_module(name, types.ModuleType(f"plugin_of_{name}"))
print(json.dumps({name: [is_from_plugin(name), is_privateuse1(name)] for name in ("cpu", "cuda", "opencl", "xla")}))
"""


def test_a_device_comes_from_a_plugin_whatever_torch_calls_it(device_python: DevicePython) -> None:
    """torch lets PrivateUse1 be called `opencl`, a name that it parses itself, and keeps `xla` for another key."""
    done = device_python("-c", ASK, env={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "cpu": [False, False],
        "cuda": [False, False],
        "opencl": [True, True],
        "xla": [True, False],
    }
