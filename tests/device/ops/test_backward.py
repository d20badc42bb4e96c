"""Every differentiable operator in PyTorch's own list, backward."""

from __future__ import annotations

import pytest
import torch

from harness.operator_database import BACKWARD, Operator, operators
from harness.operator_runs import BACKWARD_TEST, backward
from harness.parity import compare
from harness.torch_lists import cases

pytestmark = [
    pytest.mark.capability("ops"),
    # What operators warn of is not what is tested here.
    pytest.mark.filterwarnings("ignore"),
]

CASES = cases([case for dtype in BACKWARD for case in operators(dtype, backward=True)], "operators")


@pytest.mark.parametrize("operator", CASES)
def test_backward(device: torch.device, operator: Operator) -> None:
    """An operator gives the cpu's gradients, on the device, for every sample in PyTorch's own list."""
    compare(operator, operator.samples(requires_grad=True), backward, device, counterpart=BACKWARD_TEST).end()
