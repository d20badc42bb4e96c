"""Every module in PyTorch's own list, in training and in evaluation mode, forward and backward, and wrong calls."""

from __future__ import annotations

import pytest
import torch

from harness.module_database import MODULE_TEST, Module, backward, forward, modules, modules_with_errors
from harness.parity import compare
from harness.refused_calls import refused
from harness.torch_lists import cases

pytestmark = [
    pytest.mark.capability("modules"),
    # What modules warn of is not what is tested here.
    pytest.mark.filterwarnings("ignore"),
]

CASES = cases(modules(torch.float32), "modules")


@pytest.mark.parametrize("module", CASES)
def test_module_forward(device: torch.device, module: Module) -> None:
    """A module gives the cpu's results, and keeps the cpu's running statistics, on the device."""
    compare(module, module.samples(), forward, device, counterpart=MODULE_TEST).end()


@pytest.mark.parametrize("module", CASES)
def test_module_backward(device: torch.device, module: Module) -> None:
    """A module gives the cpu's gradients of its parameters and inputs, on the device."""
    compare(module, module.samples(requires_grad=True), backward, device, counterpart=MODULE_TEST).end()


@pytest.mark.parametrize("module", cases(modules_with_errors(torch.float32), "modules"))
def test_module_errors(device: torch.device, module: Module) -> None:
    """A module raises the cpu's class of exception for every wrong call in PyTorch's own list."""
    compare(module, module.errors(device), refused, device).end()
