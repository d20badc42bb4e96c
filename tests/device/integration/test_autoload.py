"""A plugin that is imported by hand."""

from __future__ import annotations

import pytest

from harness.process import run_python

pytestmark = pytest.mark.capability("autoload")


@pytest.mark.parametrize("autoload", ["0", "1"])
def test_plugin_may_be_loaded_first(plugin_device: str, autoload: str) -> None:
    """Loading the plugin's entry point before torch works, whether torch loads plugins itself or not."""
    code = """
import sys
from importlib.metadata import entry_points
points = entry_points(group="torch.backends")
assert points, "no installed package has an entry point in the group torch.backends"
for load in [point.load() for point in points]:
    load()
import torch
print(torch.get_device_module(sys.argv[1]).is_available())
"""
    said = run_python(code, plugin_device, environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": autoload})
    assert said.strip() == "True"
