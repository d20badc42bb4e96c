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

COUNTERPARTS = {
    "foreach": ("TestOptimRenewed", "test_foreach_matches_forloop"),
    "fused": ("TestOptimRenewed", "test_fused_matches_forloop"),
}
"""PyTorch's own tests that compare ways to compute a step (test/test_optim.py)."""


@pytest.mark.parametrize("optimizer", cases(optimizers(), "optimizers"))
def test_optimizer(device: torch.device, optimizer: Optimizer) -> None:
    """An optimizer takes the cpu's steps, and keeps the cpu's state, on the device."""
    compare(optimizer, optimizer.samples(), steps, device, counterpart=COUNTERPARTS.get(optimizer.way)).end()
