"""Every optimizer in PyTorch's own list, in every way in which it computes a step."""

from __future__ import annotations

import pytest
import torch

from harness.optimizer_database import Optimizer, optimizers, steps
from harness.parity import compare
from harness.torch_lists import cases

pytestmark = [
    pytest.mark.capability("optimizers"),
    # What optimizers warn of is not what is tested here.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.mark.parametrize("optimizer", cases(optimizers(), "optimizers"))
def test_optimizer(device: torch.device, optimizer: Optimizer) -> None:
    """An optimizer takes the cpu's steps, and keeps the cpu's state, on the device."""
    compare(optimizer, optimizer.samples(), steps, device).end()
