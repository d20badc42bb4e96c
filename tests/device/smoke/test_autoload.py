"""`import torch` alone makes the device known."""

from __future__ import annotations

import pytest

from harness.process import run_python

pytestmark = pytest.mark.capability("autoload")

# torch itself parses some names of devices that are out of its tree, such as opencl; the module comes from the plugin.
IS_KNOWN = """
import sys
import torch
try:
    torch.get_device_module(torch.device(sys.argv[1]))
except (AttributeError, RuntimeError):
    print("unknown")
else:
    print("known")
"""


def test_import_torch_suffices(plugin_device: str) -> None:
    """In a fresh process `import torch` alone makes the device known and its module available.

    Asked by `torch/__init__.py` (_import_device_backends) and
    https://docs.pytorch.org/docs/stable/accelerator/autoload.html.
    """
    code = IS_KNOWN + "print(torch.get_device_module(sys.argv[1]).is_available())\n"
    said = run_python(code, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "1"})
    assert said.split() == ["known", "True"]


def test_autoload_can_be_switched_off(plugin_device: str) -> None:
    """With TORCH_DEVICE_BACKEND_AUTOLOAD=0 torch is imported without the plugin.

    Asked by `torch/__init__.py` (_is_device_backend_autoload_enabled) and
    https://docs.pytorch.org/docs/stable/accelerator/autoload.html.
    """
    said = run_python(IS_KNOWN, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert said.strip() == "unknown"
