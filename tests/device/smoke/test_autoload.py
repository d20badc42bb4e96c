"""`import torch` alone makes the device known."""

from __future__ import annotations

import pytest

from harness.device import plugin_modules
from harness.process import run_python

pytestmark = pytest.mark.capability("autoload")

# The process may refuse the name in more than one way; all of them are RuntimeErrors of the parser of device names.
IS_KNOWN = """
import sys
import torch
try:
    torch.device(sys.argv[1])
except RuntimeError:
    print("unknown")
else:
    print("known")
"""


def test_import_torch_suffices(plugin_device: str) -> None:
    """In a fresh process `import torch` alone makes the device known and usable."""
    code = """
import sys
import torch
there = torch.ones(2, device=sys.argv[1])
print(there.device.type, (there + there).cpu().tolist())
"""
    said = run_python(code, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "1"})
    assert said.split(maxsplit=1) == [plugin_device, "[2.0, 2.0]\n"]


def test_autoload_can_be_switched_off(plugin_device: str) -> None:
    """With TORCH_DEVICE_BACKEND_AUTOLOAD=0 torch is imported without the plugin."""
    said = run_python(IS_KNOWN, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert said.strip() == "unknown"


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_plugin_may_be_imported_first(plugin_device: str, autoload: str) -> None:
    """Importing the plugin before torch works, whether torch loads plugins itself or not."""
    modules = plugin_modules()
    assert modules, "no installed package has an entry point in the group torch.backends"
    code = "import importlib, sys\nfor module in sys.argv[2:]:\n    importlib.import_module(module)\n" + IS_KNOWN
    said = run_python(code, plugin_device, *modules, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": autoload})
    assert said.strip() == "known"
