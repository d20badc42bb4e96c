"""Every operator in PyTorch's own list that takes ``out=``."""

from __future__ import annotations

import pytest
import torch

from harness.operator_database import Operator, operators_with_out
from harness.out_variants import MAX_SAMPLES, written
from harness.parity import compare
from harness.torch_lists import cases

pytestmark = [
    pytest.mark.capability("ops"),
    # Which warnings matter, the comparison itself looks at.
    pytest.mark.filterwarnings("ignore"),
]

COUNTERPART = ("TestCommon", "test_out")
"""PyTorch's own test of the same thing (test/test_ops.py)."""


@pytest.mark.parametrize("operator", cases(operators_with_out(), "operators"))
def test_out(device: torch.device, operator: Operator) -> None:
    """An operator writes to `out` as on the cpu, whatever its strides, shape and dtype, and refuses one on the cpu."""
    compare(operator, operator.samples(limit=MAX_SAMPLES), written, device, counterpart=COUNTERPART).end()
