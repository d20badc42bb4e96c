"""Every operator in PyTorch's own list, called with what its samples leave out."""

from __future__ import annotations

import pytest
import torch

from harness.device import device_count, has_streams
from harness.operator_database import Operator, operators_once
from harness.operator_runs import FORWARD_TEST, forward, on_side_stream, varied
from harness.parity import compare
from harness.sample_lines import sample_lines
from harness.torch_lists import cases
from harness.variations import elsewhere, variations

pytestmark = [
    pytest.mark.capability("ops"),
    # What operators warn of is not what is tested here.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.mark.parametrize("operator", cases(operators_once(), "operators"))
def test_variations(device: torch.device, operator: Operator) -> None:
    """An operator gives the cpu's results whatever the strides, sizes and values, and on every card and stream."""
    samples = list(variations(operator))
    tally = compare(operator, samples, varied, device, counterpart=FORWARD_TEST, show=sample_lines)
    if device_count(device.type) > 1:
        second, moved = torch.device(device.type, 1), elsewhere(samples, "on the second card")
        tally = compare(operator, moved, forward, second, counterpart=FORWARD_TEST, tally=tally)
    if has_streams(device.type):
        moved = elsewhere(samples, "on two streams at once")
        tally = compare(operator, moved, on_side_stream, device, counterpart=FORWARD_TEST, tally=tally)
    tally.end()
