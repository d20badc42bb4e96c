"""Every operator in PyTorch's own list, forward."""

from __future__ import annotations

import pytest
import torch

from harness.operator_database import FORWARD, Operator, operators
from harness.parity import compare, forward

pytestmark = [
    pytest.mark.capability("ops"),
    # What operators warn of is not what is tested here.
    pytest.mark.filterwarnings("ignore"),
]

CASES = [pytest.param(case, id=case.id) for dtype in FORWARD for case in operators(dtype, backward=False)]


@pytest.mark.parametrize("operator", CASES)
def test_forward(device: torch.device, operator: Operator) -> None:
    """An operator gives the cpu's results, on the device, for every sample in PyTorch's own list."""
    compare(operator, forward, device, requires_grad=False).end()
