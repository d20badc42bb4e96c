"""Every operator for which PyTorch lists calls that are wrong: the device refuses them as the cpu does."""

from __future__ import annotations

import pytest
import torch

from harness.operator_database import Operator, operators_with_errors
from harness.parity import compare
from harness.refused_calls import refused
from harness.torch_lists import cases

pytestmark = [
    pytest.mark.capability("ops"),
    # What operators warn of is not what is tested here.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.mark.parametrize("operator", cases(operators_with_errors(), "operators"))
def test_errors(device: torch.device, operator: Operator) -> None:
    """An operator raises the cpu's class of exception for every wrong call in PyTorch's own list."""
    compare(operator, operator.errors(device), refused, device).end()
