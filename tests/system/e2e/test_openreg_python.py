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
LISTS = """
import torch
def step(**kind):
    parameters = [torch.ones(size, device="openreg", requires_grad=True) for size in ((3, 2), (4,))]
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 0.5)
    optimizer = torch.optim.Adam(parameters, lr=0.1, **kind)
    torch.openreg.reset_operator_counts()
    optimizer.step()
    counts = torch.openreg.operator_counts()
    lists = sorted(name for name in counts if name.startswith(("_fused", "_foreach")))
    print(all(counts[name]["native"] and not counts[name]["fallback"] for name in lists), *lists[:3])
    print([round(parameter.detach().flatten()[0].item(), 4) for parameter in parameters])
step(fused=True)
step(foreach=True)
mixed = [torch.ones(2, device="openreg:0"), torch.ones(2, device="openreg:1")]
torch._foreach_add_(mixed, 1)
print([x.tolist() for x in mixed])
try:
    torch._foreach_add_(mixed, [1.0])
except RuntimeError as error:
    print(str(error))
"""


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        pytest.param(LOST, ["True", "[2.0, 2.0]"], id="a_device_is_lost_and_comes_back"),
        pytest.param(FULL, ["True", "out of memory", "[1.0, 1.0]"], id="a_device_is_made_small"),
        pytest.param(FAULT, ["False", "True"], id="a_fault_is_switched_on_and_off"),
        pytest.param(
            LISTS,
            [
                "True _foreach_add_.Scalar _fused_adam_",
                "[0.9, 0.9]",
                "True _foreach_add_.Scalar _foreach_addcdiv_.ScalarList _foreach_addcmul_.Scalar",
                "[0.9, 0.9]",
                "[[2.0, 2.0], [2.0, 2.0]]",
                "Tensor list must have same number of elements as scalar list.",
            ],
            id="a_list_is_one_launch",
        ),
    ],
)
def test_it_does_what_the_readme_says(device_python: Path, tmp_path: Path, code: str, printed: list[str]) -> None:
    ran = run_command([str(device_python), "-c", code], tmp_path)
    assert ran.out.splitlines() == printed, ran.err
