"""Every operator in PyTorch's own list, forward."""

from __future__ import annotations

import pytest
import torch

from harness.accuracy import Accuracy
from harness.operator_database import FORWARD, Operator, operators
from harness.operator_runs import FORWARD_TEST, forward
from harness.parity import Tally, compare
from harness.recorder import MEASURED
from harness.sample_lines import sample_lines
from harness.torch_lists import cases

pytestmark = [
    pytest.mark.capability("ops"),
    # What operators warn of is not what is tested here.
    pytest.mark.filterwarnings("ignore"),
]

CASES = cases([case for dtype in FORWARD for case in operators(dtype, backward=False)], "operators")


@pytest.mark.parametrize("operator", CASES)
def test_forward(device: torch.device, operator: Operator, request: pytest.FixtureRequest) -> None:
    """An operator gives the cpu's results, on the device, for every sample in PyTorch's own list."""
    accuracy = Accuracy()
    tally = Tally(accuracy=accuracy)
    compare(operator, operator.samples(), forward, device, counterpart=FORWARD_TEST, show=sample_lines, tally=tally)
    # An operator that the device refuses in part has no error: the samples left may be the easy ones.
    if (measured := accuracy.summary()) and not tally.refused:
        request.node.user_properties.append((MEASURED, measured))
    tally.end()
