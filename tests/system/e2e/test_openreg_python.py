"""What only the reference device has in Python, which the suites, made for every device, cannot ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run_command

pytestmark = pytest.mark.torch

LOST = """
import torch
there = torch.ones(2, device="openreg")
torch.openreg.lose_device()
try:
    there + 1
    torch.openreg.synchronize()
except torch.AcceleratorError as error:
    print("lost" in str(error).lower())
torch.openreg.reset_device()
print((torch.ones(2, device="openreg") + 1).tolist())
"""
FULL = """
import torch
torch.openreg.set_memory_limit(64 << 20)
print(torch.openreg.mem_get_info()[1] == 64 << 20)
try:
    torch.empty(128 << 20, dtype=torch.uint8, device="openreg")
except torch.OutOfMemoryError:
    print("out of memory")
print(torch.ones(2, device="openreg").tolist())
"""
FAULT = """
import torch
there = torch.ones(2, device="openreg")
torch.openreg.set_fault("wrong-result")
print((there + 1).tolist() == [2.0, 2.0])
torch.openreg.set_fault("")
print((there + 1).tolist() == [2.0, 2.0])
"""


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param(LOST, ["True", "[2.0, 2.0]"], id="a_device_is_lost_and_comes_back"),
        pytest.param(FULL, ["True", "out of memory", "[1.0, 1.0]"], id="a_device_is_made_small"),
        pytest.param(FAULT, ["False", "True"], id="a_fault_is_switched_on_and_off"),
    ],
)
def test_it_does_what_the_readme_says(device_python: Path, tmp_path: Path, code: str, printed: list[str]) -> None:
    ran = run_command([str(device_python), "-c", code], tmp_path)
    assert ran.out.splitlines() == printed, ran.err
