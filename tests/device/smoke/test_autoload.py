"""`import torch` alone makes the device known."""

from __future__ import annotations

import pytest

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

LOADED_FIRST = f"""
from importlib.metadata import entry_points
points = entry_points(group="torch.backends")
assert points, "no installed package has an entry point in the group torch.backends"
for load in [point.load() for point in points]:
    load()
{IS_KNOWN}"""


def test_import_torch_suffices(plugin_device: str) -> None:
    """In a fresh process `import torch` alone makes the device known and its module available."""
    code = IS_KNOWN + "print(torch.get_device_module(sys.argv[1]).is_available())\n"
    said = run_python(code, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "1"})
    assert said.split() == ["known", "True"]


def test_autoload_can_be_switched_off(plugin_device: str) -> None:
    """With TORCH_DEVICE_BACKEND_AUTOLOAD=0 torch is imported without the plugin."""
    said = run_python(IS_KNOWN, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert said.strip() == "unknown"


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_plugin_may_be_imported_first(plugin_device: str, autoload: str) -> None:
    """Loading the plugin's entry point before torch works, whether torch loads plugins itself or not."""
    said = run_python(LOADED_FIRST, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": autoload})
    assert said.strip() == "known"
